import { Client, DatabaseError as ServerError } from 'pg'
import t from 'tap'
import { RetriableError, toCommitError, toDatabaseError } from '../../src/postgres/database-error.ts'
import { testOnPostgres } from '../engines.ts'

testOnPostgres(
  'a COMMIT on a connection that is known to be broken was never sent',
  async (t, _open, url) => {
    const client = new Client({ connectionString: url.split('?')[0], pipeline: true })
    client.on('error', () => {})
    await client.connect()
    const ended = new Promise((resolve) => client.once('end', resolve))
    const killed = client.query('SELECT pg_terminate_backend(pg_backend_pid())').catch((error) => error)
    t.match(toDatabaseError(await killed, 'SELECT'), { kind: 'unavailable' })
    await ended
    const error = await client.query('COMMIT').then(t.fail, (error) => error)
    t.type(toCommitError(error), RetriableError)
    t.match(toCommitError(error), { kind: 'unavailable' })
  },
)

t.test('a COMMIT whose response is lost has an unknown outcome, whatever the reason', async (t) => {
  for (const reason of ['Connection terminated unexpectedly', 'read ECONNRESET', 'Query read timeout']) {
    const error = toCommitError(new Error(reason))
    t.notOk(error instanceof RetriableError, reason)
    t.match(error, { kind: 'unknown-outcome' })
  }
})

t.test('errors are distinguished in whatever language the server speaks', async (t) => {
  const of = (message: string, code: string, routine: string) =>
    toDatabaseError(Object.assign(new ServerError(message, 0, 'error'), { code, routine }), 'SELECT')
  const stale = of('gecachter Plan darf den Ergebnistyp nicht ändern', '0A000', 'RevalidateCachedQuery')
  t.match(stale, { kind: 'busy', stale: true })
  const several = of(
    'kann nicht mehrere Befehle in vorbereitete Anweisung einfügen',
    '42601',
    'exec_parse_message',
  )
  t.match(several, { kind: 'refused' })
  t.match(of('cached plan', '0A000', 'transformSelect'), { kind: 'other' })
  const failed = (code: string, severity: string) =>
    Object.assign(new ServerError('Fehler', 0, 'error'), { code, severity })
  for (const severity of ['FATAL', 'ВАЖНО', 'ÖLÜMCÜL'])
    for (const code of ['57P01', '57P05', '25P03', '25P04', '08006']) {
      t.match(toDatabaseError(failed(code, severity), 'SELECT'), { kind: 'unavailable', lost: true }, code)
      t.match(toCommitError(failed(code, severity)), { kind: 'unknown-outcome' }, code)
    }
  for (const severity of ['PANIC', 'ПАНИКА'])
    for (const code of ['53100', '58030', 'XX000'])
      t.match(toCommitError(failed(code, severity)), { kind: 'unknown-outcome' }, code)
  for (const code of ['23505', '40001', '57014', '22003'])
    t.not((toCommitError(failed(code, 'ОШИБКА')) as { kind?: string }).kind, 'unknown-outcome', code)
})
