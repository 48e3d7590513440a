import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { mintToken } from '@mortise/host'
import { createTestHost, type TestHost, type TestHostOptions } from '@mortise/module-testkit'
import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'
import { consoleModule } from '../src/index.ts'

const folder = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

export const moduleIn = (name: string) => ({ directory: folder(name) })

/** A host with the console, and a page of a few lines. */
export function consoleHost(t: Test, { modules = [], ...options }: Partial<TestHostOptions> = {}) {
  return createTestHost(t, {
    modules: [{ ...moduleIn('web-console'), plugin: consoleModule(smallPage(t)) }, ...modules],
    rehearse: false,
    ...options,
  })
}

export function smallPage(t: Test): string {
  const page = t.testdir({})
  mkdirSync(join(page, 'asset'))
  writeFileSync(
    join(page, 'index.html'),
    '<!doctype html><html><head><script type="module" src="asset/page-1a2b.js"></script></head></html>',
  )
  writeFileSync(join(page, 'asset', 'page-1a2b.js'), `console.log('${'a page '.repeat(300)}')\n`)
  return page
}

/** As `createTestHost` signs. */
export const tokenOf = (subject: string, scope: string, expiresIn = '1h') =>
  mintToken({
    issuer: 'mortise-testkit',
    secret: Buffer.from('a secret of 32 bytes, for tests only'),
    ...{ subject, scopes: scope.split(' '), expiresIn },
  })

/** Lets time pass until the test ends, in milliseconds. */
export function later(t: Test, milliseconds: number): void {
  const { now } = Date
  Date.now = () => now() + milliseconds
  t.teardown(() => {
    Date.now = now
  })
}

/** The headers that a browser and the page send. */
export const ofPage = { 'x-console': '1', 'sec-fetch-site': 'same-origin' }

/** A browser with the page: it keeps the cookie. */
export class Browser {
  readonly #host: TestHost
  cookie: string | undefined

  constructor(host: TestHost, cookie?: string) {
    this.#host = host
    this.cookie = cookie
  }

  async request(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = method === 'GET' ? {} : ofPage,
  ): Promise<LightMyRequestResponse> {
    const response = await this.#host.app.inject({
      method,
      url: path,
      headers: { ...headers, ...(this.cookie !== undefined && { cookie: this.cookie }) },
      ...(body !== undefined && { payload: body }),
    })
    const [set] = [response.headers['set-cookie'] ?? []].flat()
    if (set !== undefined) this.cookie = /Max-Age=0/.test(set) ? undefined : set.split(';')[0]
    return response
  }

  get = (path: string, headers?: Readonly<Record<string, string>>) =>
    this.request('GET', path, undefined, headers)
  post = (path: string, body?: object) => this.request('POST', path, body)
}

export async function signedIn(host: TestHost, subject = 'root', scope = 'admin'): Promise<Browser> {
  const browser = new Browser(host)
  const { statusCode, body } = await browser.post('/console/session', {
    token: await tokenOf(subject, scope),
  })
  if (statusCode !== 200) throw new Error(`${subject} cannot sign in: ${body}`)
  return browser
}
