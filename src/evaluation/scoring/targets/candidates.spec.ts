import type { Scope } from '#platform/auth';
import type { SessionRef, TraceStore } from '../../../telemetry';
import type { TargetRef } from './target.entity';
import {
  type Candidates,
  listedCandidates,
  storedSessionCandidates,
  takeFirst,
  unscoredCandidates,
} from './candidates';

const traces = (count: number): TargetRef[] =>
  Array.from({ length: count }, (_, n) => ({ trace_id: `t${n}`, session_id: null }));

const pagesOf = async (candidates: Candidates, targetCount: number): Promise<TargetRef[][]> => {
  const pages: TargetRef[][] = [];
  for await (const page of candidates.pages(targetCount)) pages.push(page);
  return pages;
};

describe('unscoredCandidates', () => {
  const all = traces(1_000);
  const allFailed = (ids: readonly string[]) => Promise.resolve(new Map(ids.map((id) => [id, false])));

  it('returns at most the requested number of failed candidates, and counts all of them', async () => {
    const unscored = unscoredCandidates(listedCandidates(all), allFailed);
    expect((await pagesOf(unscored, 3)).flat()).toEqual(all.slice(0, 3));
    expect(await unscored.count()).toBe(1_000);
  });

  it('returns untried candidates before failed ones, and no scored ones', async () => {
    const earlier = new Map([
      ['t0', false],
      ['t1', true],
    ]);
    const unscored = unscoredCandidates(listedCandidates(traces(4)), () => Promise.resolve(earlier));
    expect((await takeFirst(unscored, 10)).map((one) => one.trace_id)).toEqual(['t2', 't3', 't0']);
    expect(await unscored.count()).toBe(3);
  });
});

describe('storedSessionCandidates', () => {
  const SESSIONS = 50_000;
  const sessions = Array.from({ length: SESSIONS }, (_, n) => ({ session_id: `s${n}` })) as SessionRef[];

  it('reads each session once, in pages of limited size', async () => {
    const limits: number[] = [];
    const store = {
      sessionRefs: (_scope: Scope, _selection: object, limit: number, after?: SessionRef) => {
        limits.push(limit);
        const from = after ? sessions.indexOf(after) + 1 : 0;
        return Promise.resolve(sessions.slice(from, from + limit));
      },
    } as unknown as TraceStore;
    const stored = storedSessionCandidates(store, {} as Scope, {});
    const sessionIds = (await pagesOf(stored, 5)).flat().map((one) => one.session_id);
    expect(sessionIds).toEqual(sessions.map((one) => one.session_id));
    expect(limits.slice(0, 3)).toEqual([1_000, 2_000, 4_000]);
    expect(Math.max(...limits)).toBe(20_000);
  });
});
