import type { INestApplicationContext } from '@nestjs/common';
import { MetricsServer } from '../../libs/platform/metrics/metrics.server';

/** What was scraped: the value of each series, such as `registry_jobs{kind="greet",state="waiting"}`. */
export interface Scrape {
  status: number;
  text: string;
  values: Map<string, number>;
}

/** Asks a process for its metrics as Prometheus does. */
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

/** Those of some name, by their labels as they are written. */
export const seriesOf = ({ values }: Scrape, name: string): Record<string, number> =>
  Object.fromEntries(
    [...values].flatMap(([series, value]) => {
      const [, found, labels] = /^([^{]+)\{?(.*?)\}?$/.exec(series)!;
      return found === name ? [[labels!.replaceAll('"', ''), value]] : [];
    }),
  );
