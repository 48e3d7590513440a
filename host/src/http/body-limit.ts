/** Largest body in bytes: 200 items of maximum length, escaped, take 314,200. */
export const BODY_LIMIT = 384 * 1024
