import type { Scope } from '#platform/auth';
import type { Database } from '#platform/db';
import type { ScorerService } from '../../scorers';
import type { ScoreRunService } from '../score-runs/score-run.service';
import type { ScoringRunner } from '../score-runs/scoring-runner';
import type { TargetRepository } from '../targets/target.repository';
import type { TargetSelector } from '../targets/target-selector';
import type { ScoreRequestDto } from './scoring.dto';
import { ScoringService } from './scoring.service';

describe('ScoringService', () => {
  const request = { scorer: {}, selection: { grain: 'trace', unscoredOnly: true }, options: {} };
  const select = jest.fn(() => Promise.resolve({ targets: [], scannedRange: null }));
  const findTaken = jest.fn(() => Promise.resolve(new Set(['trace'])));
  const service = new ScoringService(
    { transaction: (work: () => unknown) => work() } as unknown as Database,
    {} as ScorerService,
    { findTaken } as unknown as TargetRepository,
    { select } as unknown as TargetSelector,
    {} as ScoreRunService,
    {} as ScoringRunner,
  );
  jest.spyOn(service, 'read').mockResolvedValue(request as never);
  const dto = { since: '2026-01-01T00:00:00Z', limit: 1, unscored_only: true } as ScoreRequestDto;
  const score = (signal: AbortSignal) => service.score({} as Scope, 'scorer', dto, signal);
  afterEach(() => jest.clearAllMocks());

  it('returns 409 after other requests have taken the targets ten times', async () => {
    await expect(score(new AbortController().signal)).rejects.toMatchObject({ code: 'conflict' });
    expect(findTaken).toHaveBeenCalledTimes(10);
  });

  it('does not select for an aborted request', async () => {
    await expect(score(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(select).not.toHaveBeenCalled();
  });

  it('stops selecting when the request is aborted', async () => {
    const controller = new AbortController();
    findTaken.mockImplementationOnce(() => {
      controller.abort(new Error('gone'));
      return Promise.resolve(new Set(['trace']));
    });
    await expect(score(controller.signal)).rejects.toThrow('gone');
    expect(findTaken).toHaveBeenCalledTimes(1);
  });
});
