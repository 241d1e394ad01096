/** The samples of a scrape: the metric with its labels, and the value. */
export type Samples = { name: string; labels: Record<string, string>; value: number }[]

/** Reads metrics in the text format of Prometheus. */
export async function readMetrics(url: string): Promise<Samples> {
  const text = await (await fetch(url)).text()
  return [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name, labels = '', value]) => ({
      name: name!,
      labels: Object.fromEntries(
        [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key!, text!]),
      ),
      value: Number(value),
    }),
  )
}

/** Returns the value of the only sample with these labels, or undefined without one. */
export function findValue(
  samples: Samples,
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  const wanted = Object.entries(labels)
  const found = samples.filter(
    (sample) =>
      sample.name === name && wanted.every(([key, text]) => sample.labels[key] === text),
  )
  if (found.length > 1) throw new Error(`${name} has ${found.length} samples`)
  return found[0]?.value
}
