import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { checkWorkspaceOfSearch } from '../../resources';
import { ReadLimiter } from '../../telemetry';
import type { ScoreStatsDto, ScoreStatsQueryDto } from './score-stats.dto';
import { ScoreStatsRepository, STATS_ROWS_MAX } from './score-stats.repository';

const PASS_SCORE = 0.5;
const HINT = 'Narrow the query with since, until, scorer_name or source.';

/** Computes statistics of scores. */
@Injectable()
export class ScoreStatsService {
  constructor(
    private readonly limiter: ReadLimiter,
    private readonly stats: ScoreStatsRepository,
  ) {}

  /** Returns statistics by group. Errors: 400 for a workspace other than the header's; 503 if reading takes too long. */
  async query(scope: Scope, dto: ScoreStatsQueryDto, signal: AbortSignal): Promise<ScoreStatsDto> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    const groups = { groupBy: dto.group_by ?? [], passScore: dto.pass_score ?? PASS_SCORE };
    const rows = await this.limiter.read(scope, HINT, (on) => this.stats.stats(on, scope, dto, groups), {
      noun: 'scores',
      signal,
    });
    return { rows: rows.slice(0, STATS_ROWS_MAX), is_truncated: rows.length > STATS_ROWS_MAX };
  }
}
