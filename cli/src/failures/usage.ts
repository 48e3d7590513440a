import { define } from '@mortise/installer/failures'

export const wrongUsage = define.usage('usage', '{problem}', 'See "app --help", or --help of the command.')

export const missingCommand = define.usage(
  'usage',
  'A command is missing.',
  'See "app --help" for all commands.',
)

export const noNumber = define.usage(
  'usage',
  '"{text}" is not a number for {option}.',
  'Use an integer {range}.',
)

export const noPauseTime = define.usage(
  'usage',
  '"{text}" is not a time for --for.',
  'Write a number and s, m, h, d or w, a year at most: --for 10m',
)

export const noSecondsToWait = define.usage(
  'usage',
  '"{text}" is not a number of seconds.',
  'Write --wait, or --wait 30.',
)

export const noGenerationNumber = define.usage(
  'usage',
  '"{text}" is not a generation.',
  'Use a number from "app module-history".',
)

export const wrongConfigCall = define.usage(
  'usage',
  'Wrong arguments of "app config".',
  'Write app config get [setting], app config set <setting> <value> or app config unset <setting>.',
)

export const wrongReplayCall = define.usage(
  'usage',
  '{problem}',
  'Write app {command}, app {command} replay <id>, app {command} replay --all or app {command} discard <id>.',
)

export const wrongToken = define.usage('usage', '{problem}', 'See "app token --help" for examples.')

export const wrongModuleName = define.usage(
  'usage',
  '"{name}" is not a name for a module.',
  'Use lower-case letters, digits and hyphens, with a scope if you have one: wishlist, or @acme/wishlist.',
)
