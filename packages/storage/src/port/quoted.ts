/** Quotes an SQL identifier. */
export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`
