import { Environment } from '#platform/config';
import { ResultListRepository } from '../../src/evaluation/experiments/results/result-list.repository';
import type { Bench } from '../bench';
import { compare, median, timeCalls } from '../measure';
import { type Load, load } from '../wrk';

const CLIENTS = 4;
const READERS = 16;
const READ_SECONDS = 2;
const PAGES = 60;
const RESULTS = 1_000_000;
const PAGE_SIZE = 50;

/**
 * Reads one resource by its id, compared with the health check, which needs neither credentials nor the database. Uses
 * wrk, because a client in Node would take as much time as the service.
 */
export async function readById(bench: Bench): Promise<void> {
  const { scope, http } = bench;
  const create = async (path: string, id: string, body: object): Promise<string> => {
    const created = await http.json<Record<string, string>>('POST', path, 201, {
      workspace_id: scope.workspaceId,
      ...body,
    });
    return `${path}/${created[id]}`;
  };
  const name = `read-by-id-${Date.now()}`;
  const paths = {
    'health check': '/health/live',
    dataset: await create('/eval/v1/datasets', 'dataset_id', { name }),
    experiment: `/eval/v1/experiments/${await bench.newExperiment()}`,
    agent: await create('/agent/v1/agents', 'agent_id', { name, model: 'gpt-4o-mini' }),
  };
  const { port, headers } = http.target;
  const latencies = new Map<string, Load[]>();
  const result = await compare(
    Object.entries(paths).map(([side, path]) => ({
      name: side,
      measure: async (round) => {
        const url = `http://127.0.0.1:${port}${path}`;
        const sample = await load(url, { connections: READERS, seconds: READ_SECONDS, headers });
        if (round > 0) latencies.set(side, [...(latencies.get(side) ?? []), sample]);
        return sample.perSecond;
      },
    })),
  );
  bench.report(`read by id, ${READERS} clients`, 'requests/s', result, Object.keys(paths));
  for (const [side, loads] of latencies) {
    const [p50, p99] = [median(loads.map((one) => one.p50)), median(loads.map((one) => one.p99))];
    bench.line(`  ${side}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`);
  }
}

/** Reads a page of 50 of 1,000,000 results: the first and, by cursor, a middle page, also sorted by a score. */
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
    'deep page, compared with the first page',
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
    `first and deep page by a score, compared with the first page, ${CLIENTS} clients`,
    'requests/s',
    await compare([
      { name: 'first', measure: first.service },
      { name: 'first by a score', measure: lowest.service },
      { name: 'deep by a score', measure: middle.service },
    ]),
    ['first', 'first by a score', 'deep by a score'],
  );
}

/** Returns a cursor in the middle of the list. A page that only skips results is empty; its cursor continues the list. */
async function deepCursor(bench: Bench, route: string, sort = '-created_at'): Promise<string> {
  type Page = { items: unknown[]; page: { next_cursor: string } };
  const list = `${route}?limit=1&sort=${encodeURIComponent(sort)}`;
  const read = (query: string) => bench.http.json<Page>('GET', `${list}&${query}`, 200);
  let result = await read(`offset=${RESULTS / 2}`);
  while (result.items.length === 0) result = await read(`cursor=${result.page.next_cursor}`);
  return result.page.next_cursor;
}
