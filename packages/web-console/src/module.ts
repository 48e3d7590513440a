import { defineModule } from '@mortise/module-sdk'
import { Settings } from './settings.ts'

export const { plugin, problem, responses } = defineModule('web-console', {
  settings: Settings,
  problems: {
    'page-not-built': {
      status: 503,
      title: 'The page of the console is not built',
      detail: 'Run "npm run build" in the folder of the package web-console, and install it again.',
    },
    'asset-not-found': {
      status: 404,
      title: 'The page has no such file',
      detail: 'The console may have been upgraded: load the page again.',
    },
    'not-signed-in': {
      status: 401,
      title: 'The session has ended',
      detail: 'Sign in again: with a token, or with the link that "app console" prints.',
    },
    'foreign-request': {
      status: 403,
      title: 'The request does not come from the page',
      detail:
        'Nothing was done. A request that changes something needs the header X-Console: 1, and must come from the page of the same origin.',
    },
    'link-not-valid': {
      status: 401,
      title: 'The link is not valid',
      detail: 'A link is valid once, for a minute. Run "app console" again.',
    },
  },
})
