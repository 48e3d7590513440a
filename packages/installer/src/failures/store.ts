import { define } from './define-failure.ts'

export const nothingToBundle = define.notFound(
  'nothing-installed',
  'There is nothing to bundle: nothing is installed.',
  'Install something first: app module-install api-cart',
)

export const storeIncomplete = define.refused(
  'store-incomplete',
  '{name} in the store is not what was installed: {reason}',
  'Run "app module-install" without a name: it restores the store from the lock file.',
)

export const storeIncompleteForDryRun = define.refused(
  'store-incomplete',
  'A dry run downloads nothing, and packages of generation {generation} are missing in the store: {missing}.',
  'Nothing was changed. Run it on a terminal without --dry-run: it downloads them, shows the plan and asks.',
)

export const otherTree = define.refused(
  'integrity',
  '{name} {version} was downloaded, but its dependencies differ from what was installed. They may differ on this kind of machine.',
  {
    module: 'To accept them, install it again: app module-remove {id}, then app module-install {spec}',
    host: 'To accept them: app host-upgrade {version}',
  },
)

export const hostMissing = define.refused(
  'host-incomplete',
  'The host {version} that modules.lock.json names is missing in the store, so the command cannot check modules against it.',
  'Run "app module-install" without a name first: it restores the store from the lock file.',
)

export const hostAltered = define.refused(
  'host-incomplete',
  'The host {version} in the store is not what was installed: its files differ.',
  'Run "app module-install" without a name: it restores the store from the lock file.',
)

export const localModule = define.usage(
  'usage',
  '{id} was installed from {spec}, which has one version only.',
  'Install the other folder or file: app module-install <path>',
)
