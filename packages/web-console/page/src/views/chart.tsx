import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { texts } from '../texts.ts'
import { theme } from '../theme.ts'
import type { ChartOf } from './now-charts.ts'

const colours = ['--chart-1', '--chart-2', '--chart-3', '--chart-4', '--chart-5']
const together = uPlot.sync('now')

interface Props {
  readonly chart: ChartOf
  /** Seconds since 1970. */
  readonly times: readonly number[]
}

/** Lines of the last hour. Its legend says in words what the pointer shows, or else the latest values. */
export function Chart({ chart, times }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const [at, setAt] = useState<number | null>(null)
  const { title, series, format } = chart
  const names = series.map(({ name }) => name).join(' ')
  const data = [times, ...series.map(({ values }) => values)] as uPlot.AlignedData

  useEffect(() => {
    const element = place.current
    if (!element) return
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const draw = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(chart, element, setAt), data, element)
    }
    draw()
    const watch = new ResizeObserver(() => plot.current?.setSize(sizeOf(element)))
    watch.observe(element)
    dark.addEventListener('change', draw)
    const stop = theme.subscribe(() => draw())
    return () => {
      stop()
      dark.removeEventListener('change', draw)
      watch.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [names])
  useEffect(() => plot.current?.setData(data), [times.at(-1)])

  const shown = series.map(({ name, values }) => {
    const value = at === null ? values.findLast((value) => value !== null) : values[at]
    return { name, text: value === null || value === undefined ? '—' : format(value) }
  })
  return (
    <figure class="card chart">
      <figcaption>
        <h2>{title}</h2>
        {shown.map(({ name, text }, index) => (
          <span class="legend" key={name}>
            <svg aria-hidden="true" viewBox="0 0 10 10" class={`c${index + 1}`}>
              <rect width="10" height="10" rx="2" />
            </svg>
            {name} <b>{text}</b>
          </span>
        ))}
      </figcaption>
      <div
        class="plot"
        ref={place}
        role="img"
        aria-label={texts.now.summary(title, shown.map(({ name, text }) => `${name} ${text}`).join(', '))}
      />
    </figure>
  )
}

const sizeOf = (element: HTMLElement) => ({ width: Math.max(element.clientWidth, 200), height: 176 })

function optionsOf(
  { series, format }: ChartOf,
  element: HTMLElement,
  show: (index: number | null) => void,
): uPlot.Options {
  const style = getComputedStyle(element)
  // A colour of a property may be `light-dark(…)`: an element says which of the two it is.
  const probe = document.createElement('i')
  element.append(probe)
  const colour = (name: string) => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const [muted, line] = [colour('--muted'), colour('--line')]
  const strokes = series.map((_one, index) => colour(colours[index % colours.length] ?? '--text'))
  probe.remove()
  const font = `11px ${style.fontFamily}`
  const axis = { stroke: muted, font, grid: { stroke: line, width: 1 }, ticks: { show: false } }
  return {
    ...sizeOf(element),
    legend: { show: false },
    cursor: { sync: { key: together.key }, points: { size: 6 }, drag: { x: false, y: false } },
    padding: [8, 8, 0, 0],
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(most * 1.1, 0.001)] } },
    hooks: { setCursor: [(plot) => show(plot.cursor.idx ?? null)] },
    axes: [
      { ...axis, grid: { show: false }, size: 24, values: (plot, times) => times.map(clockFor(plot)) },
      { ...axis, size: 62, values: (_plot, values) => values.map(format) },
    ],
    series: [
      {},
      ...series.map(({ name }, index) => ({
        label: name,
        stroke: strokes[index] ?? muted,
        width: 1.5,
        points: { show: false },
        spanGaps: false,
        ...(series.length === 1 && {
          fill: strokes[index]?.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.12)') ?? muted,
        }),
      })),
    ],
  }
}

/** With seconds where the chart shows only some minutes. */
function clockFor(plot: uPlot) {
  const { min = 0, max = 0 } = plot.scales.x ?? {}
  const format = new Intl.DateTimeFormat('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    ...((max ?? 0) - (min ?? 0) < 600 && { second: '2-digit' }),
  })
  return (time: number) => format.format(time * 1000)
}
