import { quietSecondsOf } from './quiet-time';
import type { RuleFilterDto, ScoringRuleDto } from './scoring-rule.dto';
import type { ScoringRuleEntity } from './scoring-rule.entity';

export const toScoringRuleDto = (row: ScoringRuleEntity): ScoringRuleDto => ({
  rule_id: row.rule_id,
  scorer_id: row.scorer_id,
  workspace_id: row.workspace_id,
  sample_rate: row.sample_rate,
  filters: row.filters as unknown as RuleFilterDto[],
  grain: row.grain,
  enabled: row.enabled,
  quiet_seconds: quietSecondsOf(row),
  enabled_at: row.enabled_at,
  last_seen_at: row.last_seen_at,
  seen_count: row.seen_count,
  chosen_count: row.chosen_count,
  ordered_count: row.ordered_count,
  last_run_at: row.last_run_at,
  last_score_run_id: row.last_score_run_id,
  last_error: row.last_error,
  created_at: row.created_at,
  updated_at: row.updated_at,
  created_by: row.created_by,
  archived_at: row.archived_at,
});
