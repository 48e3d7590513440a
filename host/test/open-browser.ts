import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'
import type { Test } from 'tap'

/** Debian's, or another of the machine; undefined without one. */
export const executablePath = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find(existsSync)

/** Why a test with a browser cannot run here; false where it can. */
export const noBrowser = executablePath ? false : 'no Chromium on this machine: apt-get install chromium'

/** Without them Chromium calls home, which a closed network refuses. */
export const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** A Chromium with a profile of its own, until the test ends. */
export async function openBrowser(t: Test): Promise<BrowserContext> {
  const profile = await mkdtemp(join(tmpdir(), 'mortise-browser-'))
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath as string,
    args,
  })
  t.teardown(async () => {
    await browser.close()
    await rm(profile, { recursive: true, force: true })
  })
  return browser
}
