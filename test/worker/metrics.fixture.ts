import type { INestApplicationContext } from '@nestjs/common';
import { MetricsServer } from '../../libs/platform/metrics-server/metrics.server';

/** The result of a scrape: the value of each series, such as `registry_jobs{kind="greet",state="waiting"}`. */
export interface Scrape {
  status: number;
  text: string;
  values: Map<string, number>;
}

/** Scrapes the metrics of a process, as Prometheus does. */
export async function scrape(from: Pick<INestApplicationContext, 'get'>): Promise<Scrape> {
  const port = from.get(MetricsServer, { strict: false }).port;
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return {
    status: answer.status,
    text,
    values: new Map(
      lines.map((line): [string, number] => {
        const at = line.lastIndexOf(' ');
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
    ),
  };
}

/** Returns the series of a metric, by their labels in text form. */
export const seriesOf = ({ values }: Scrape, name: string): Record<string, number> =>
  Object.fromEntries(
    [...values].flatMap(([series, value]) => {
      const [, metric, labels] = /^([^{]+)\{?(.*?)\}?$/.exec(series)!;
      return metric === name ? [[labels!.replaceAll('"', ''), value]] : [];
    }),
  );
