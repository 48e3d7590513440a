// Who may import whom: cli → installer → host → application → storage → module-sdk ← modules; the test kit uses the host; verification and
// benchmarks use all of them.
const rule = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to })
/** Folders of `inside`, each of which imports only those before it. */
const inOrder = (inside, folders) =>
  folders
    .slice(0, -1)
    .map((folder, index) =>
      rule(
        `in-order-${folder}`,
        `${inside}/${folder} imports nothing of what comes after it: ${folders.slice(index + 1).join(', ')}.`,
        { path: `^${inside}/${folder}/` },
        { path: `^${inside}/(${folders.slice(index + 1).join('|')})/` },
      ),
    )

const ofWorkspaces = '^(cli|host|packages/[^/]+)/'
/** Of our packages, `place` imports only those below it. */
const importsOnly = (name, comment, place, ...below) =>
  rule(
    name,
    comment,
    { path: `^${place}/` },
    { path: ofWorkspaces, pathNot: `^(${[place, ...below].join('|')})/` },
  )
const [sdk, storage, application] = ['packages/module-sdk', 'packages/storage', 'packages/application']

/** The types of the contracts that a module provides. */
const contract = '^packages/(?:api|web)-[^/]+/(src|dist)/contract\\.'

export default {
  forbidden: [
    importsOnly('sdk-imports-nobody', 'The SDK stands at the bottom.', sdk),
    importsOnly('storage-imports-the-sdk-only', 'Storage knows no host.', storage, sdk),
    importsOnly(
      'application-imports-storage-and-sdk-only',
      'The folder of an application knows no host.',
      ...[application, storage, sdk],
    ),
    importsOnly(
      'host-imports-application-storage-and-sdk-only',
      'The host knows no module and no installer.',
      ...['host', application, storage, sdk],
    ),
    importsOnly(
      'installer-imports-host-application-storage-and-sdk-only',
      'The installer knows no command and no module.',
      ...['packages/installer', 'host', application, storage, sdk],
    ),
    importsOnly(
      'cli-imports-what-is-below-it',
      'The command knows no module.',
      ...['cli', 'packages/installer', 'host', application, storage, sdk, 'packages/module-testkit'],
    ),
    rule(
      'cli-imports-types-of-the-test-kit',
      'The test kit stands beside the tests of an author; `app module-check` loads it from there.',
      { path: '^cli/src/' },
      { path: '^packages/module-testkit/', dependencyTypesNot: ['type-only'] },
    ),
    rule(
      'modules-import-the-sdk-only',
      'Modules know each other by contracts, and the host not at all.',
      { path: '^packages/((?:api|web)-[^/]+)/src/' },
      { path: ofWorkspaces, pathNot: ['^packages/($1|module-sdk)/', contract] },
    ),
    rule(
      'sdk-for-the-host',
      'A module imports what the SDK has for modules.',
      { path: '^packages/(?:api|web)-[^/]+/src/' },
      { path: '^packages/module-sdk/dist/(host|unrun-steps)\\.' },
    ),
    rule(
      'contracts-are-types',
      'A module is there or not when another one runs.',
      { path: '^packages/((?:api|web)-[^/]+)/src/' },
      { path: contract, pathNot: '^packages/$1/', dependencyTypesNot: ['type-only'] },
    ),
    importsOnly(
      'testkit-imports-host-application-and-sdk-only',
      'The test kit knows no module.',
      ...['packages/module-testkit', 'host', application, storage, sdk],
    ),
    rule(
      'no-insides-of-others',
      'A package is used through what it exports. A planted mistake replaces an export of any file.',
      {
        path: '^(cli|host|packages/[^/]+)/',
        pathNot: '^packages/verification/src/(harness/seams|runs/[^/]+/bugs).',
      },
      {
        path: `${ofWorkspaces}(src|dist)/(?!(index|serving|supervising|contract|check/index).)`,
        pathNot: [
          '^$1/',
          '^packages/(installer|application)/dist/(explaining|locating|starting|[^/]+/index).',
          '^packages/module-sdk/dist/(current-time|host|json|money|sql|transaction|unrun-steps).',
        ],
      },
    ),
    ...inOrder('cli/src', ['failures', 'terminal', 'pinned', 'commands']),
    ...inOrder('packages/installer/src', [
      'failures',
      'reporting',
      'application',
      'changes',
      'store',
      'data',
      'install',
      'settings',
      'doctor',
      'search',
    ]),
    ...inOrder('packages/application/src', ['config', 'modules', 'records', 'folder']),
    rule(
      'rooms-import-no-entry',
      'What starts the command imports its folders, and never the other way round.',
      { path: '^(cli|packages/installer)/src/[^/]+/' },
      { path: '^$1/src/[^/]+$' },
    ),
    ...inOrder('packages/installer/src/install', [
      'resolve',
      'fetch',
      'verify',
      'plan',
      'consent',
      'probe',
      'apply',
      'prune',
      'deliver',
    ]),
    rule(
      'no-circles',
      'Files that import each other in a circle cannot be read apart.',
      {},
      { circular: true },
    ),
    {
      ...rule(
        'no-folder-circles',
        'Folders that import each other in a circle cannot be read apart.',
        {},
        { circular: true },
      ),
      scope: 'folder',
    },
    rule(
      'rooms-import-no-file-above-them',
      'What rooms share is in a room.',
      { path: '^(host|cli|packages/(?:storage|application|installer|verification))/src/[^/]+/' },
      { path: '^$1/src/[^/]+\\.ts$' },
    ),
    rule(
      'no-undeclared-packages',
      'What a package imports stands in its package.json; what only tests import, in that of the repository.',
      { path: ofWorkspaces, pathNot: '/test/' },
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown'] },
    ),
  ],
  options: {
    doNotFollow: { path: '(^|/)(node_modules|dist)/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'default'] },
  },
}
