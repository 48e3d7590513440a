/** The URL of a request with another cursor, without its host: a page's link to the next. */
export function linkTo(url: string, name: string, cursor: string): string {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  searchParams.set(name, cursor)
  return `${pathname}?${searchParams}`
}
