/** A user signed in and claims their data as a guest. */
export interface GuestClaim {
  /** The previous caller id of the guest. No caller has it now. */
  readonly guest: string
  readonly user: string
}
