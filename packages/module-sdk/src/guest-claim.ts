/** A user has signed in and claims what they have had as a guest. */
export interface GuestClaim {
  /** The caller id that the guest had. Nobody has it any more. */
  readonly guest: string
  /** The caller id of the user. */
  readonly user: string
}
