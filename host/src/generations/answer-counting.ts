import fp from 'fastify-plugin'
import { isStream } from '../http/is-stream.ts'
import { type AnswerCounts, isModuleFailure } from './answer-counts.ts'

export interface AnswerCountingOptions {
  readonly answers: AnswerCounts
  /** Told the module of each answer that is its failure. */
  readonly onFailure: (module: string) => void
}

/** Has the answers of modules counted, other than streams and 503. */
export const answerCounting = fp<AnswerCountingOptions>(
  async (app, { answers, onFailure }) => {
    app.addHook('onResponse', ({ routeOptions, problem }, reply, done) => {
      const { module } = routeOptions.config
      if (module !== undefined && reply.statusCode !== 503 && !isStream(reply)) {
        const isFailed = isModuleFailure(reply.statusCode, problem)
        answers.count(module, isFailed)
        if (isFailed) onFailure(module)
      }
      done()
    })
  },
  { name: 'answer-counting', fastify: '5.x' },
)
