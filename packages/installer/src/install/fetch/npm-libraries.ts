// npm's libraries take longer to load than the rest of a command, so only commands that fetch load
// them.

export const loadArborist = async () => (await import('@npmcli/arborist')).default
export const loadCacache = async () => (await import('cacache')).default
export const loadPacote = async () => (await import('pacote')).default
export const loadRegistryFetch = async () => (await import('npm-registry-fetch')).default

/** Options about registries for pacote and Arborist. */
export type NpmOptions = Record<string, unknown> & { registry: string }
