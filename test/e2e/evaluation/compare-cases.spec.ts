import { PAGE_BYTES } from '#platform/paging';
import { sharedApp } from '#testing';
import type { ComparedCaseDto } from '../../../src/evaluation/experiments/compare/compared-case.dto';
import { compare, compared, completed, experimentOf, EXPERIMENTS, pages, scored } from './comparison.fixture';
import { EvaluationWorkspace, outcome, places, UNKNOWN_IDS } from './evaluation.harness';

const times = <Value>(count: number, value: Value): Value[] => new Array<Value>(count).fill(value);

describe('the cases of a comparison', () => {
  const app = sharedApp();
  let space: EvaluationWorkspace;

  beforeEach(async () => {
    space = await EvaluationWorkspace.open(app);
  });

  describe('in pages', () => {
    it('are listed by cursor and by offset, without gaps or repeats', async () => {
      // Many differences are tied, and some cases have no difference.
      const count = 57;
      const candidate = await experimentOf(
        space,
        scored(
          's',
          Array.from({ length: count }, (_, i) => (i % 9 === 4 ? null : (i % 5) / 4)),
        ),
      );
      const baseline = await experimentOf(space, scored('s', times(count, 0.5)));
      for (const filter of [{}, { sort: '-difference' }, { only: 'regressed' }, { only: 'missing' }] as Record<
        string,
        string
      >[]) {
        const all = (await compared(space, candidate, baseline, { ...filter, limit: '500' })).cases;
        expect(all.page.next_cursor).toBeNull();
        expect(all.page.total).toBe(all.items.length);
        const keys = (items: ComparedCaseDto[]) => items.map((one) => one.case_id);
        const seen: string[] = [];
        for (const { items, page } of await pages(space, candidate, baseline, { ...filter, limit: '7' })) {
          expect([page.limit, page.offset, page.total]).toEqual([7, 0, all.page.total]);
          seen.push(...keys(items));
        }
        expect(seen).toEqual(keys(all.items));
        expect(new Set(seen).size).toBe(seen.length);
        const skipped = (await compared(space, candidate, baseline, { ...filter, offset: '5', limit: '3' })).cases;
        expect(keys(skipped.items)).toEqual(keys(all.items).slice(5, 8));
        expect(skipped.page.offset).toBe(5);
      }
      const none = await compared(space, candidate, baseline, { limit: '0' });
      expect(none.cases).toEqual({ items: [], page: { limit: 0, offset: 0, total: count, next_cursor: null } });
      expect(none.scorers).toHaveLength(1);
    }); // oxfmt-ignore

    it('have statistics on the first page only', async () => {
      const candidate = await experimentOf(space, scored('s', [1, 0, 1, 0]));
      const baseline = await experimentOf(space, scored('s', [0, 1, 0, 0]));
      const first = await compared(space, candidate, baseline, { limit: '2', offset: '0' });
      expect(first.scorers).toHaveLength(1);
      const cursor = first.cases.page.next_cursor!;
      for (const query of [{ cursor }, { offset: '2' }] as Record<string, string>[]) {
        const page = await compared(space, candidate, baseline, { limit: '2', ...query });
        expect([page.scorers, page.scorer_count, page.cases.items.length]).toEqual([null, 1, 2]);
        expect(page.totals).toEqual(first.totals);
      }
      for (const query of [{ scorer: 's', sort: '-difference' }, { only: 'improved' }] as Record<
        string,
        string
      >[]) {
        expect((await compared(space, candidate, baseline, query)).scorers).toEqual(first.scorers);
      }
    });

    it('are listed even if keys contain line breaks', async () => {
      const results = (score: number) =>
        ['a\nb', 'a\n\nc', '\n', '😀'].map((case_id) => ({ case_id, scores: { s: score } }));
      const candidate = await experimentOf(space, results(1));
      const baseline = await experimentOf(space, results(0));
      const all = await pages(space, candidate, baseline, { limit: '1' });
      const seen = all.flatMap(({ items }) => items.map((one) => one.case_id));
      expect(seen).toEqual(['\n', 'a\n\nc', 'a\nb', '😀']);
    });

    it('end a page early when results are large, and skip none', async () => {
      const large = 'x'.repeat(1.25 * 1024 * 1024);
      const results = (score: number) =>
        ['1', '2', '3', '4'].map((case_id) => ({ case_id, output: large, scores: { s: score } }));
      const ids: string[] = [];
      for (const score of [1, 0]) {
        const { experiment_id } = await space.experiment();
        for (const result of results(score)) await space.result(experiment_id, result);
        ids.push(experiment_id);
      }
      const all = await pages(space, ids[0]!, ids[1]!);
      const sizes = all.map((page) => JSON.stringify(page).length);
      const seen = all.flatMap(({ items }) => items.map((one) => one.case_id));
      expect(seen).toEqual(['1', '2', '3', '4']);
      expect(sizes).toHaveLength(2);
      for (const size of sizes) expect(size).toBeLessThan(PAGE_BYTES + 2 * 1.375 * 1024 * 1024);
    });

    it('include as many trials of each case as fit', async () => {
      const large = 'x'.repeat(1024 * 1024);
      const { experiment_id: candidate } = await space.experiment();
      for (let i = 0; i < 7; i++) {
        await space.result(candidate, { case_id: `${i}`, trial_group: 'g', output: large, scores: { s: 1 } });
      }
      const baseline = await experimentOf(
        space,
        Array.from({ length: 25 }, (_, i) => ({ case_id: `${i}`, trial_group: 'g', scores: { s: 0 } })),
      );
      const [only] = (await compared(space, candidate, baseline)).cases.items;
      expect([only!.candidate_count, only!.baseline_count]).toEqual([7, 25]);
      expect(only!.candidate.map((one) => one.case_id)).toEqual(['0', '1', '2', '3']);
      expect(only!.baseline).toHaveLength(3);
      const few = (await compared(space, baseline, candidate, { limit: '1' })).cases.items[0]!;
      expect([few.candidate_count, few.baseline.length]).toEqual([25, 4]);
    });
  });

  describe('with an invalid request', () => {
    let candidate: string;
    let baseline: string;

    beforeEach(async () => {
      baseline = await completed(space, scored('s', [1, 0]));
      candidate = await experimentOf(space, scored('s', [0, 1]));
    });

    it('return 404 for experiments and baselines that are unknown or in other workspaces', async () => {
      for (const id of UNKNOWN_IDS) {
        const path = await space.viewer.get(`${EXPERIMENTS}/${encodeURIComponent(id)}/compare`);
        expect(outcome(path)).toEqual([404, 'not_found']);
        const query = await compare(space, candidate, { baseline_experiment_id: id.replaceAll('\0', '') });
        expect(outcome(query)).toEqual([404, 'not_found']);
        expect((query.body as unknown as { detail: string }).detail).toContain('baseline_experiment_id');
      }
      const other = await EvaluationWorkspace.open(app);
      const foreign = await experimentOf(other, scored('s', [1, 1]));
      const sibling = await space.sibling();
      expect(outcome(await compare(space, candidate, { baseline_experiment_id: foreign }))).toEqual([404, 'not_found']);
      expect(outcome(await compare(space, foreign, { baseline_experiment_id: baseline }))).toEqual([404, 'not_found']);
      const path = `${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}`;
      expect(outcome(await sibling.get(path))).toEqual([404, 'not_found']);
      // The cached comparison must not be readable from other workspaces.
      await space.finalize(candidate);
      expect((await space.viewer.get(path)).status).toBe(200);
      expect(outcome(await sibling.get(path))).toEqual([404, 'not_found']);
      expect(outcome(await other.viewer.get(path))).toEqual([404, 'not_found']);
    }); // oxfmt-ignore

    it.each<[Record<string, string>, string]>([
      [{}, 'baseline_experiment_id'],
      [{ limit: '501' }, 'limit'],
      [{ limit: '-1' }, 'limit'],
      [{ offset: 'x' }, 'offset'],
      [{ cursor: 'x' }, 'cursor'],
      [{ cursor: 'x', offset: '0' }, 'cursor'],
      [{ scorer: 'misspelt' }, 'scorer'],
      [{ scorer: '' }, 'scorer'],
      [{ scorer_version: '1' }, 'scorer_version'],
      [{ scorer: 's', scorer_version: '0' }, 'scorer_version'],
      [{ baseline: 'exp_1' }, 'baseline'],
    ])('return 400 for %j, and name the parameter', async (query, parameter) => {
      const required: Record<string, string> =
        parameter === 'baseline_experiment_id' ? {} : { baseline_experiment_id: baseline };
      const answer = await compare(space, candidate, { ...required, ...query });
      expect([...outcome(answer), ...places(answer)]).toEqual([400, 'invalid_query', parameter]);
    });

    it('return 400 for an experiment as its own baseline or a cursor of another sort order, and 422 for unknown values', async () => {
      expect(outcome(await compare(space, candidate, { baseline_experiment_id: candidate }))).toEqual([
        400,
        'invalid_query',
      ]);
      const { page } = (await compared(space, candidate, baseline, { limit: '1' })).cases;
      const foreign = await compare(space, candidate, {
        baseline_experiment_id: baseline,
        sort: '-difference',
        cursor: page.next_cursor!,
      });
      expect([...outcome(foreign), ...places(foreign)]).toEqual([400, 'invalid_query', 'cursor']);
      for (const query of [{ only: 'worse' }, { sort: 'name' }] as Record<string, string>[]) {
        const answer = await compare(space, candidate, { baseline_experiment_id: baseline, ...query });
        expect([...outcome(answer), ...places(answer)]).toEqual([
          422,
          'validation_failed',
          Object.keys(query)[0],
        ]);
      }
    });

    it('return 400 for a cursor of another scorer or other filters', async () => {
      const scores = (s: number, t: number) => ({ s, t, 'a\nb': t });
      const results = (shift: number) =>
        [1, 2, 3, 4].map((i) => ({ case_id: `${i}`, scores: scores(i * shift, (5 - i) * shift) }));
      const pair = [await experimentOf(space, results(1)), await experimentOf(space, results(0))] as const;
      const lists: Record<string, string>[] = [
        {},
        { scorer: 's' },
        { scorer: 't' },
        { scorer: 'a\nb' },
        { only: 'improved' },
        { only: 'improved', scorer: 's' },
      ];
      const cursors: string[] = [];
      for (const list of lists) {
        const keys = (await compared(space, ...pair, list)).cases.items.map((one) => one.case_id);
        const paged = await pages(space, ...pair, { ...list, limit: '3' });
        expect(paged.map(({ items }) => items.map((one) => one.case_id))).toEqual([keys.slice(0, 3), keys.slice(3)]);
        cursors.push(paged[0]!.page.next_cursor!);
      }
      for (const [i, cursor] of cursors.entries()) {
        for (const list of lists.filter((_, j) => j !== i)) {
          const foreign = await compare(space, pair[0], { baseline_experiment_id: pair[1], ...list, cursor });
          expect([...outcome(foreign), ...places(foreign)]).toEqual([400, 'invalid_query', 'cursor']);
          expect(JSON.stringify(foreign.body)).toMatch(/belongs to another list or sort|with the same filters/);
        }
      }
    }); // oxfmt-ignore

    it('return 401 or 403 to callers without read access', async () => {
      const path = `${EXPERIMENTS}/${candidate}/compare?baseline_experiment_id=${baseline}`;
      expect(outcome(await (await space.organization.as('runtime')).get(path))).toEqual([
        403,
        'access_denied',
      ]);
      expect(outcome(await app.api().get(path))).toEqual([401, 'token_missing']);
    });
  });
});
