import { type Config, ownIssuer } from '@mortise/application'
import { mintToken } from '@mortise/host'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'

/** A client of the API. A guest keeps its token, a user sends its JWT. */
export class TestCaller {
  readonly #app: FastifyInstance
  readonly #basePath: string
  #headers: Record<string, string> | Promise<Record<string, string>>

  private constructor(
    app: FastifyInstance,
    basePath: string,
    headers: Record<string, string> | Promise<Record<string, string>>,
  ) {
    this.#app = app
    this.#basePath = basePath
    this.#headers = headers
  }

  static guest(app: FastifyInstance, { basePath }: Config): TestCaller {
    return new TestCaller(app, basePath, {})
  }

  static user(app: FastifyInstance, config: Config, subject: string, scope?: string): TestCaller {
    const issuer = ownIssuer(config)
    if (!issuer) throw new Error('the test host has no secret')
    const token = mintToken({ ...issuer, subject, scopes: scope?.split(' '), expiresIn: '1h' })
    return new TestCaller(
      app,
      config.basePath,
      token.then((jwt) => ({ authorization: `Bearer ${jwt}` })),
    )
  }

  /**
   * Sends one request. `path` is the path inside the module, without the base path. A string or
   * Buffer `payload` is sent as it is, a FormData as a form, any other as JSON.
   */
  request(
    method: Method,
    path: string,
    payload?: InjectOptions['payload'],
    headers?: Readonly<Record<string, string>>,
  ): Promise<LightMyRequestResponse> {
    return this.#inject({ method }, path, payload, headers)
  }

  /**
   * Sends one request, as `request` does. Resolves when the response begins, for one that may not
   * end: `stream()` of the result is its body, and `raw.res.destroy()` leaves it.
   */
  begin(
    method: Method,
    path: string,
    payload?: InjectOptions['payload'],
    headers?: Readonly<Record<string, string>>,
  ): Promise<LightMyRequestResponse> {
    return this.#inject({ method, payloadAsStream: true }, path, payload, headers)
  }

  async #inject(
    options: InjectOptions,
    path: string,
    payload: InjectOptions['payload'],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<LightMyRequestResponse> {
    const own = await this.#headers
    const response = await this.#app.inject({
      ...options,
      url: `${this.#basePath}${path}`,
      headers: { ...own, ...headers },
      ...(payload === undefined ? {} : { payload }),
    })
    const token = response.headers['guest-token']
    if (typeof token === 'string') this.#headers = { ...own, 'guest-token': token }
    return response
  }

  /** Signs in and claims the guest's data. The guest's token is retired. */
  async claim(guest: TestCaller): Promise<LightMyRequestResponse> {
    const { 'guest-token': token } = await guest.#headers
    return this.post('/guest/claim', undefined, token === undefined ? {} : { 'guest-token': token })
  }

  /** The credentials as headers, for requests that do not use this class, such as over a socket. */
  async credentials(): Promise<Readonly<Record<string, string>>> {
    return this.#headers
  }

  get(path: string, headers?: Readonly<Record<string, string>>): Promise<LightMyRequestResponse> {
    return this.request('GET', path, undefined, headers)
  }

  post(path: string, payload?: InjectOptions['payload'], headers?: Readonly<Record<string, string>>) {
    return this.request('POST', path, payload, headers)
  }

  patch(path: string, payload?: InjectOptions['payload'], headers?: Readonly<Record<string, string>>) {
    return this.request('PATCH', path, payload, headers)
  }

  delete(path: string, headers?: Readonly<Record<string, string>>): Promise<LightMyRequestResponse> {
    return this.request('DELETE', path, undefined, headers)
  }
}
