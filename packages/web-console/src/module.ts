import { defineModule } from '@mortise/module-sdk'
import { Type } from '@sinclair/typebox'
import { Settings } from './settings.ts'

export const { plugin, problem, responses } = defineModule('web-console', {
  settings: Settings,
  problems: {
    'page-not-built': {
      status: 404,
      title: 'The page of the console is not built',
      detail: 'Run "node .dev/setup.js --all" in the checkout, then remove the module and install it again.',
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
    'no-login': {
      status: 404,
      title: 'The console has no issuer',
      detail: 'Sign in with a token or a link. The operator can set web-console.oidc.',
    },
    'login-failed': { status: 401, title: 'The sign-in at the issuer has failed' },
    'foreign-request': {
      status: 403,
      title: 'The request does not come from the page',
      detail:
        'Nothing was done. A request that changes something needs the header X-Console: 1, and must come from the page of the same origin.',
    },
    'no-such-command': {
      status: 404,
      title: 'The console has no such command',
      detail: 'The console runs a fixed list of commands: type the others.',
    },
    'command-failed': {
      status: 409,
      title: 'The command has failed',
      members: { command: Type.Object({ code: Type.String(), exitCode: Type.Integer() }) },
    },
    'commands-busy': {
      status: 503,
      title: 'Too many commands wait',
      detail: 'Nothing was done. Try again when some of them have ended.',
    },
    'changes-off': { status: 403, title: 'The console may not change the application' },
    'plan-not-found': {
      status: 404,
      title: 'There is no such plan',
      detail:
        'Nothing was done. A plan is applied once, by the session that asked for it, within ten minutes: plan again.',
    },
    'change-not-found': {
      status: 404,
      title: 'There is no such change',
      detail: 'The console keeps changes for 30 days. The history and the audit trail have all of them.',
    },
    'sign-in-too-old': {
      status: 403,
      title: 'The sign-in is too old for a change',
      detail: 'Nothing was done. A change needs a sign-in of the last five minutes: sign in again.',
    },
    'link-not-valid': {
      status: 401,
      title: 'The link is not valid',
      detail: 'A link is valid once, for a minute. Run "app console" again.',
    },
  },
})
