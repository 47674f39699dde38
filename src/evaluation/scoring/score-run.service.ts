import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import { newId } from '#platform/ids';
import type { ListQueryDto, Page } from '#platform/paging';
import { problem } from '#platform/problem';
import type { ScoreResultDto, ScoreRunDto, ScoreRunListQueryDto } from './score-run.dto';
import type { ScoreRunRow } from './score-run.entity';
import { ScoreRunRepository } from './score-run.repository';
import { toScoreResultDto, toScoreRunDto } from './scoring.mapper';

/** Reads runs, and cancels them. */
@Injectable()
export class ScoreRunService {
  constructor(
    private readonly database: Database,
    private readonly runs: ScoreRunRepository,
  ) {}

  async list(scope: Scope, query: ScoreRunListQueryDto): Promise<Page<ScoreRunDto>> {
    const { rows, page } = await this.runs.list(scope, query);
    return { items: rows.map(toScoreRunDto), page };
  }

  async get(scope: Scope, id: string): Promise<ScoreRunDto> {
    return toScoreRunDto(await this.find(scope, id));
  }

  async listResults(scope: Scope, id: string, query: ListQueryDto): Promise<Page<ScoreResultDto>> {
    await this.find(scope, id);
    const { rows, page } = await this.runs.listResults(scope, id, query);
    return { items: rows.map(toScoreResultDto), page };
  }

  /**
   * Cancels a run that is queued or running: what is scored stays, the other targets end with an error. Repeated, it
   * answers the same; a run that ended otherwise is 409.
   */
  async cancel(scope: Scope, id: string): Promise<ScoreRunDto> {
    const { total } = await this.find(scope, id);
    return this.database.transaction(async (tx) => {
      await this.runs.end(tx, scope, id, {
        code: 'cancelled',
        detail: 'The run was cancelled.',
        error: 'The run was cancelled before this was scored.',
        scoreIds: Array.from({ length: total }, () => newId('score')),
      });
      const run = (await this.runs.find(scope, id, tx))!;
      if (run.failure_code === 'cancelled') return toScoreRunDto(run);
      throw problem.conflict(`The run has ${run.run_status} and cannot be cancelled any more.`);
    });
  }

  private async find(scope: Scope, id: string): Promise<ScoreRunRow> {
    const row = await this.runs.find(scope, id);
    if (!row) throw problem.notFound('scoring run', id);
    return row;
  }
}
