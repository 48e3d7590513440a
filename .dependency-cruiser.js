// Who may import whom: cli → host → storage → module-sdk ← modules; the test kit uses the host; verification and benchmarks use all of them.
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
/** The types of the contracts that a module provides. */
const contract = '^packages/(?:api|web)-[^/]+/(src|dist)/contract\\.'

export default {
  forbidden: [
    rule(
      'sdk-imports-nobody',
      'The SDK stands at the bottom.',
      { path: '^packages/module-sdk/' },
      { path: ofWorkspaces, pathNot: '^packages/module-sdk/' },
    ),
    rule(
      'storage-imports-the-sdk-only',
      'Storage knows no host.',
      { path: '^packages/storage/' },
      { path: ofWorkspaces, pathNot: '^packages/(storage|module-sdk)/' },
    ),
    rule(
      'host-imports-storage-and-sdk-only',
      'The host knows no module.',
      { path: '^host/' },
      { path: ofWorkspaces, pathNot: '^(host|packages/(storage|module-sdk))/' },
    ),
    rule(
      'cli-imports-host-storage-and-sdk-only',
      'The command knows no module.',
      { path: '^cli/' },
      { path: ofWorkspaces, pathNot: '^(cli|host|packages/(storage|module-sdk|module-testkit))/' },
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
    rule(
      'testkit-imports-host-and-sdk-only',
      'The test kit knows no module.',
      { path: '^packages/module-testkit/' },
      { path: ofWorkspaces, pathNot: '^(host|packages/(module-testkit|storage|module-sdk))/' },
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
          '^packages/module-sdk/dist/(current-time|host|json|money|sql|transaction|unrun-steps).',
        ],
      },
    ),
    ...inOrder('cli/src', [
      'terminal',
      'application',
      'changes',
      'store',
      'data',
      'install',
      'settings',
      'doctor',
      'commands',
    ]),
    rule(
      'rooms-import-no-entry',
      'What starts the command imports its folders, and never the other way round.',
      { path: '^cli/src/[^/]+/' },
      { path: '^cli/src/[^/]+$' },
    ),
    ...inOrder('cli/src/install', [
      'resolve',
      'fetch',
      'verify',
      'plan',
      'consent',
      'probe',
      'apply',
      'prune',
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
      { path: '^(host|cli|packages/(?:storage|verification))/src/[^/]+/' },
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
