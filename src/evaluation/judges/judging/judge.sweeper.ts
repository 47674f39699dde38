import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Environment } from '#platform/config';
import { PeriodicTasks } from '#platform/jobs';
import { JudgeLimitRepository } from '../calls/judge-limit.repository';
import { JudgeAnswerRepository } from './judge-answer.repository';
import { ChatFeaturesRepository } from '../llm/chat-features.repository';

const SWEEP_MS = 600_000;
const BATCH = 1_000;

/** Deletes cached answers older than `JUDGE_CACHE_DAYS` in batches, and outdated rate limits and features of judges. */
@Injectable()
export class JudgeSweeper implements OnApplicationBootstrap {
  constructor(
    private readonly environment: Environment,
    private readonly answers: JudgeAnswerRepository,
    private readonly limits: JudgeLimitRepository,
    private readonly features: ChatFeaturesRepository,
    private readonly tasks: PeriodicTasks,
  ) {}

  onApplicationBootstrap(): void {
    this.tasks.every('judges', SWEEP_MS, () => this.sweep());
  }

  async sweep(): Promise<void> {
    await this.limits.prune();
    await this.features.prune();
    while ((await this.answers.prune(this.environment.JUDGE_CACHE_DAYS, BATCH)) === BATCH);
  }
}
