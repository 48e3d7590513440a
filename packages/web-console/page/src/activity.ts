let last = Date.now()

for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchmove'] as const) {
  addEventListener(
    kind,
    () => {
      last = Date.now()
    },
    { passive: true },
  )
}

/** Whether nobody has touched the page for a while: what it loads then, it loads by itself. */
export const isLeftAlone = (): boolean => Date.now() - last > 10_000
