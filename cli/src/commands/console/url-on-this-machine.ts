/** Where a program on this machine reaches a host that listens on all addresses. */
export const urlOnThisMachine = (url: string): string => url.replace(/\/\/(0\.0\.0\.0|\[::\])/, '//127.0.0.1')
