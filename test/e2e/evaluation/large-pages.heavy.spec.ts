import { PAGE_BYTES } from '#platform/paging';
import { sharedApp } from '#testing';
import { EvaluationWorkspace, type Page, type Result } from './evaluation.harness';

const EXPERIMENTS = '/eval/v1/experiments';

/** Four of these exceed a page, but each is smaller than the maximum body. */
const LARGE = 'x'.repeat(6 * 1024 * 1024);
const COUNT = 4;

describe('a list of large items', () => {
  const app = sharedApp({ env: { BODY_LIMIT_BYTES: '10485760' } });
  let space: EvaluationWorkspace;

  beforeAll(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  const made = async (path: string, body: object): Promise<string> => {
    const answer = await space.editor.post(path, { workspace_id: space.organization.workspaceId, ...body });
    expect(answer.status).toBe(201);
    return answer.headers.get('location')!;
  };
  const each = (make: (n: number) => Promise<unknown>) =>
    Array.from({ length: COUNT }).reduce<Promise<unknown>>(
      (before, _, n) => before.then(() => make(n)),
      Promise.resolve(),
    );

  /** The lists by name, each with a function that fills the list and returns its path. */
  const LISTS: [string, () => Promise<string>][] = [
    [
      'results',
      async () => {
        const path = `${await made(EXPERIMENTS, { name: 'large' })}/results`;
        await each((n) => made(path, { case_id: `c${n}`, output: LARGE }));
        return path;
      },
    ],
    [
      'records',
      async () => {
        const path = `${await made('/eval/v1/datasets', { name: 'large' })}/records`;
        await each(() => made(path, { input: 1, expected: [LARGE] }));
        return path;
      },
    ],
    [
      'versions of a record',
      async () => {
        const dataset = await made('/eval/v1/datasets', { name: 'large versions' });
        const record = await made(`${dataset}/records`, { input: LARGE });
        await each(async (n) =>
          expect((await space.editor.patch(record, { label: `l${n}` })).status).toBe(200),
        );
        return `${record}/versions`;
      },
    ],
    [
      'experiments',
      async () => {
        await each((n) =>
          made(EXPERIMENTS, { name: `large ${n}`, tags: ['large'], context_manifest: { LARGE } }),
        );
        return `${EXPERIMENTS}?tag=large`;
      },
    ],
  ];

  it.each(LISTS)('ends pages early, and loses no item: %s', async (_, make) => {
    const path = await make();
    const list = async (query: string) =>
      (await space.viewer.get<Page<object>>(`${path}${path.includes('?') ? '&' : '?'}${query}`)).body;
    const all = await list('limit=0');
    expect(all.page.total).toBeGreaterThanOrEqual(COUNT);
    for (const sort of [
      '',
      '&sort=created_at',
      ...(path.includes('versions') ? [] : ['&sort=-updated_at']),
    ]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Page<object> = await list(
          `limit=500${sort}${cursor === null ? '' : `&cursor=${cursor}`}`,
        );
        expect(page.items.length).toBeGreaterThan(0);
        expect(page.items.length).toBeLessThan(COUNT);
        expect(JSON.stringify(page.items).length).toBeLessThan(PAGE_BYTES + LARGE.length * 1.1);
        seen.push(...page.items.map((item) => JSON.stringify(item).replace(LARGE, '')));
        cursor = page.page.next_cursor;
      } while (cursor !== null);
      expect(seen).toHaveLength(all.page.total!);
      expect(new Set(seen).size).toBe(seen.length);
    }
  });

  it('ends pages early, and loses no item: results that are filtered or sorted by a score', async () => {
    const { experiment_id } = await space.experiment();
    const path = `/eval/v1/experiments/${experiment_id}/results`;
    const output = 'x'.repeat(3 * 1024 * 1024);
    for (const [index, case_id] of ['a', 'b', 'c', 'd'].entries()) {
      await space.result(experiment_id, {
        case_id,
        output,
        tags: ['t'],
        scores: index < 2 ? { s: index } : {},
      });
    }
    for (const query of [
      'tag=t&sort=created_at',
      'sort=score:s',
      'sort=score:s&offset=1',
      'sort=duration_ms',
    ]) {
      let seen = '';
      let next = `${path}?${query}`;
      for (let page = 0; page < 10; page++) {
        const { body } = await space.viewer.get<Page<Result>>(next);
        expect(body.items.length).toBeLessThanOrEqual(4);
        seen += body.items.map((one) => one.case_id).join('');
        if (body.page.next_cursor === null) break;
        next = `${path}?${query.replace('&offset=1', '')}&cursor=${body.page.next_cursor}`;
      }
      expect([query, seen]).toEqual([query, query.includes('offset') ? 'bcd' : 'abcd']);
    }
  });
});
