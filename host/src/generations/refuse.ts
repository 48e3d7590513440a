/** As Node itself reports it. */
export const denied = (permission: string, resource: string) =>
  Object.assign(new Error(`The probe has no permission for this: ${permission} ${resource}`.trim()), {
    code: 'ERR_ACCESS_DENIED',
    permission,
    resource,
  })

export const refusing = (permission: string) =>
  function refused(...[resource]: unknown[]): never {
    throw denied(permission, resourceOf(resource))
  }

export const resourceOf = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' || value instanceof URL ? String(value) : ''
