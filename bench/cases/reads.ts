import { Environment } from '#platform/config';
import { ExperimentRepository } from '../../src/evaluation/experiments/experiments/experiment.repository';
import { ResultListRepository } from '../../src/evaluation/experiments/results/result-list.repository';
import type { Bench } from '../bench';
import { compare, timeCalls } from '../measure';

const CLIENTS = 4;
const GETS = 1_000;
const PAGES = 60;
const RESULTS = 1_000_000;
const PAGE_SIZE = 50;

/** Reads one experiment by its id. */
export async function getExperiment(bench: Bench): Promise<void> {
  const id = await bench.newExperiment();
  const experiments = new ExperimentRepository(bench.direct.database);
  const result = await compare([
    {
      name: 'direct',
      measure: async () =>
        (GETS * 1000) / (await timeCalls(GETS, CLIENTS, () => experiments.find(bench.scope, id))),
    },
    {
      name: 'service',
      measure: async () =>
        (GETS * 1000) /
        (await timeCalls(GETS, CLIENTS, () => bench.http.send('GET', `/eval/v1/experiments/${id}`, 200))),
    },
  ]);
  bench.report(`get experiment, ${CLIENTS} clients`, 'requests/s', result);
}

/** Reads a page of 50 of 1,000,000 results: the first one and one in the middle by cursor, also when sorted by a score. */
export async function listResults(bench: Bench): Promise<void> {
  const experimentId = await bench.newExperiment();
  await bench.fillResults(experimentId, RESULTS, 1);
  const route = `/eval/v1/experiments/${experimentId}/results`;
  const results = new ResultListRepository(bench.direct.database, new Environment());
  const cursor = await deepCursor(bench, route);
  const read = (query: { limit: number; cursor?: string; sort?: string }) => ({
    direct: async () =>
      (PAGES * 1000) /
      (await timeCalls(PAGES, CLIENTS, () => results.list(bench.scope, experimentId, query))),
    service: async () => {
      const parameters = new URLSearchParams({
        limit: String(query.limit),
        ...(query.cursor && { cursor: query.cursor }),
        ...(query.sort && { sort: query.sort }),
      });
      return (
        (PAGES * 1000) /
        (await timeCalls(PAGES, CLIENTS, () =>
          bench.http.send('GET', `${route}?${parameters.toString()}`, 200),
        ))
      );
    },
  });
  const first = read({ limit: PAGE_SIZE });
  const deep = read({ limit: PAGE_SIZE, cursor });
  bench.report(
    `first page of ${PAGE_SIZE} of ${RESULTS} results, ${CLIENTS} clients`,
    'requests/s',
    await compare([
      { name: 'direct', measure: first.direct },
      { name: 'service', measure: first.service },
    ]),
  );
  bench.report(
    `deep page by cursor, ${CLIENTS} clients`,
    'requests/s',
    await compare([
      { name: 'direct', measure: deep.direct },
      { name: 'service', measure: deep.service },
    ]),
  );
  bench.report(
    'deep page against the first, both by the service',
    'requests/s',
    await compare([
      { name: 'first', measure: first.service },
      { name: 'deep', measure: deep.service },
    ]),
    ['first', 'deep'],
  );
  const sort = 'score:scorer 1';
  const lowest = read({ limit: PAGE_SIZE, sort });
  const middle = read({ limit: PAGE_SIZE, sort, cursor: await deepCursor(bench, route, sort) });
  bench.report(
    `first and deep page by a score, against the first page, ${CLIENTS} clients`,
    'requests/s',
    await compare([
      { name: 'first', measure: first.service },
      { name: 'first by a score', measure: lowest.service },
      { name: 'deep by a score', measure: middle.service },
    ]),
    ['first', 'first by a score', 'deep by a score'],
  );
}

/** Returns a cursor in the middle of the list. A page that only skips results is empty, and its cursor goes on. */
async function deepCursor(bench: Bench, route: string, sort = '-created_at'): Promise<string> {
  type Page = { items: unknown[]; page: { next_cursor: string } };
  const list = `${route}?limit=1&sort=${encodeURIComponent(sort)}`;
  const read = (query: string) => bench.http.json<Page>('GET', `${list}&${query}`, 200);
  let found = await read(`offset=${RESULTS / 2}`);
  while (found.items.length === 0) found = await read(`cursor=${found.page.next_cursor}`);
  return found.page.next_cursor;
}
