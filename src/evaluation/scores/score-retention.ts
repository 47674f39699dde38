import { Injectable } from '@nestjs/common';
import { RetentionPolicy } from '../../registry';
import { ScoreDeletionRepository } from './score-deletion.repository';

const DAY_MS = 24 * 60 * 60_000;

/** Deletes the scores of traces and sessions that are older than they are kept. Safe to run in any number of workers at once. */
@Injectable()
export class ScoreRetention {
  constructor(
    private readonly policy: RetentionPolicy,
    private readonly scores: ScoreDeletionRepository,
  ) {}

  async deleteExpired(): Promise<void> {
    for await (const { workspaceId, days } of this.policy.limited('scores_days')) {
      await this.scores.deleteBefore(workspaceId, new Date(Date.now() - days * DAY_MS));
    }
  }
}
