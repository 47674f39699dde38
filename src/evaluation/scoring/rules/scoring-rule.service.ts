import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Tx } from '#platform/db';
import { checkIfMatch, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { orNotFound, problem } from '#platform/problem';
import {
  checkWorkspaceOfCreate,
  type Deletion,
  type ResourceKind,
  ResourceKit,
  stamps,
  WorkspaceResourceService,
} from '../../../resources';
import { checkSelectionValues, conditionErrors, TraceFeedRepository } from '../../../telemetry';
import { ScorerRepository, ScorerService } from '../../scorers';
import { checkRunnable, ScoringRunner, toRunnable } from '../score-runs/scoring-runner';
import {
  type CreateScoringRuleDto,
  type PatchScoringRuleDto,
  quietSecondsOf,
  type ScoringRuleDto,
  type ScoringRuleListQueryDto,
  toScoringRuleDto,
  type WorkspaceRuleListQueryDto,
} from './scoring-rule.dto';
import type { ScoringRuleEntity } from './scoring-rule.entity';
import { ScoringRuleRepository } from './scoring-rule.repository';

/** Maximum number of rules of one scorer that are not archived. */
const RULES_MAX = 20;

const SETTINGS: (keyof ScoringRuleEntity)[] = [
  'sample_rate',
  'filters',
  'grain',
  'enabled',
  'quiet_seconds',
  'max_cost_usd_per_day',
  'pace',
];

const COST_LIMIT = '/max_cost_usd_per_day';

const RULE: ResourceKind<ScoringRuleEntity, ScoringRuleDto> = {
  noun: 'scoring rule',
  type: 'scoring_rule',
  id: 'rule_id',
  generation: 'generation',
  immutable: ['rule_id', 'scorer_id'],
  auditedFields: SETTINGS,
  createdFields: ['scorer_id'],
  // A changed rule is retried at once. An archived rule keeps its last error.
  derived: (_row, changed) =>
    changed.archived_at ? {} : { last_error: null, held_until: null, paused_until: null },
  toView: toScoringRuleDto,
};

/** Manages rules that score traces or sessions as they arrive. A rule is not found (404) under another scorer. */
@Injectable()
export class ScoringRuleService extends WorkspaceResourceService<ScoringRuleEntity, ScoringRuleDto> {
  constructor(
    kit: ResourceKit,
    private readonly rules: ScoringRuleRepository,
    private readonly scorers: ScorerRepository,
    private readonly scorerService: ScorerService,
    private readonly runner: ScoringRunner,
    private readonly arrivals: TraceFeedRepository,
  ) {
    super(kit, rules, RULE);
  }

  /**
   * Creates a rule. Errors: 400 for filter values of the wrong type and for a human scorer; 404 for an unknown scorer; 409
   * for an archived scorer and for one with 20 rules; 422 for unknown values, and for a cost limit on a judge without
   * prices; 503 without the scorer's judge backend.
   */
  async create(
    scope: Scope,
    scorerId: string,
    dto: CreateScoringRuleDto,
  ): Promise<Versioned<ScoringRuleDto>> {
    checkWorkspaceOfCreate(scope, dto.workspace_id);
    checkFilters(dto);
    const scorer = await this.scorerService.find(scope, scorerId);
    checkRunnable(scorer);
    checkSelectionValues(dto);
    const runnable = toRunnable(scorer);
    await this.runner.checkBackend(runnable);
    if (typeof dto.max_cost_usd_per_day === 'number') await this.runner.checkPrice(runnable, COST_LIMIT);
    const { now_us } = await this.arrivals.clock();
    return this.transaction(scope, async (tx) => {
      await this.checkCapacity(tx, scope, scorerId);
      const row = await this.insert(tx, scope, {
        ...stamps(scope),
        rule_id: newId('rule'),
        org_id: scope.orgId,
        workspace_id: scope.workspaceId,
        scorer_id: scorerId,
        sample_rate: dto.sample_rate ?? 1,
        filters: toRawJson(dto.filters ?? []),
        grain: dto.grain ?? scorer.grain,
        quiet_seconds: dto.quiet_seconds ?? null,
        max_cost_usd_per_day: dto.max_cost_usd_per_day ?? null,
        pace: dto.pace ?? 'even',
        enabled: dto.enabled ?? true,
        generation: 1,
        ...startingAt(now_us),
        last_seen_at: null,
        seen_count: 0,
        chosen_count: 0,
        ordered_count: 0,
        counted_day: null,
        sent_today: 0,
        skipped_today: 0,
        scored_today: 0,
        spent_today_usd: 0,
        last_run_at: null,
        last_score_run_id: null,
        last_error: null,
        paused_until: null,
        last_paused_at: null,
        held_until: null,
      });
      return this.versioned(row);
    });
  }

  async list(scope: Scope, scorerId: string, query: ScoringRuleListQueryDto): Promise<Page<ScoringRuleDto>> {
    await this.scorerService.find(scope, scorerId);
    return this.page(await this.rules.list(scope, { ...query, scorer_id: scorerId }));
  }

  /** Lists the rules of all scorers of the workspace. */
  async listAll(scope: Scope, query: WorkspaceRuleListQueryDto): Promise<Page<ScoringRuleDto>> {
    return this.page(await this.rules.list(scope, query));
  }

  async getOf(scope: Scope, scorerId: string, id: string): Promise<Versioned<ScoringRuleDto>> {
    return this.versioned(checkScorer(await this.find(scope, id), scorerId));
  }

  /**
   * Changes a rule. A rule that is enabled again ignores earlier arrivals. Errors: those of every change; 400 for filter
   * values of the wrong type; 409 for an archived scorer; 422 for a cost limit on a judge without prices; 503 for enabling
   * a rule without the scorer's judge backend.
   */
  async patch(
    scope: Scope,
    scorerId: string,
    id: string,
    dto: PatchScoringRuleDto,
    ifMatch?: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    checkFilters(dto);
    const scorer = await this.scorerService.find(scope, scorerId);
    const { now_us } = await this.arrivals.clock();
    return this.transaction(scope, async (tx) => {
      const row = checkScorer(await this.lock(tx, scope, id, 'update'), scorerId);
      checkIfMatch(ifMatch, row.generation);
      checkRunnable(scorer);
      await this.checkChange(tx, scope, row, dto, ifMatch);
      checkSelectionValues(dto);
      const isEnabledAgain = dto.enabled === true && !row.enabled;
      const runnable = toRunnable(scorer);
      if (isEnabledAgain) await this.runner.checkBackend(runnable);
      const limit = dto.max_cost_usd_per_day;
      if (typeof limit === 'number' && limit !== row.max_cost_usd_per_day) {
        await this.runner.checkPrice(runnable, COST_LIMIT);
      }
      const patch = { ...settingsOf(row, dto), ...(isEnabledAgain && startingAt(now_us)) };
      return this.versioned(await this.write(tx, scope, row, patch, 'update'));
    });
  }

  /** Archives a rule. The runs that it started continue. Idempotent. Errors: 404, 412. */
  async archiveOf(
    scope: Scope,
    scorerId: string,
    id: string,
    ifMatch?: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    checkScorer(await this.find(scope, id), scorerId);
    return this.archive(scope, id, ifMatch);
  }

  /**
   * Restores a rule, which then ignores earlier arrivals. Idempotent. Errors: 404; 412; 409 for an archived scorer and for
   * one with 20 rules.
   */
  async restoreOf(
    scope: Scope,
    scorerId: string,
    id: string,
    ifMatch?: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    checkScorer(await this.find(scope, id), scorerId);
    const { now_us } = await this.arrivals.clock();
    return this.restore(scope, id, ifMatch, startingAt(now_us));
  }

  /** Deletes an archived rule. Its runs and their scores stay. Errors: 404; 412; 409 for a rule that is not archived. */
  async deleteOf(scope: Scope, scorerId: string, id: string, how: Deletion): Promise<void> {
    checkScorer(await this.find(scope, id), scorerId);
    await this.delete(scope, id, how);
  }

  protected override async onRestore(tx: Tx, scope: Scope, { scorer_id }: ScoringRuleEntity) {
    await this.checkCapacity(tx, scope, scorer_id);
    return {};
  }

  /** Records changed settings in the audit log, but not the progress of a rule. */
  protected override auditedChanges(row: ScoringRuleEntity, changed: Partial<ScoringRuleEntity>) {
    return super.auditedChanges(row, changed).filter(({ member }) => (SETTINGS as string[]).includes(member));
  }

  /** Locks the scorer, so that concurrent requests cannot exceed the limit. Errors: 404, 409. */
  private async checkCapacity(tx: Tx, scope: Scope, scorerId: string): Promise<void> {
    const scorer = orNotFound(await this.scorers.lock(tx, scope, scorerId, 'update'), 'scorer', scorerId);
    checkRunnable(scorer);
    if ((await this.rules.countLive(tx, scope, scorerId)) < RULES_MAX) return;
    throw problem.conflict(
      `The scorer already has ${RULES_MAX} rules, the maximum. Archive one of them, then try again.`,
    );
  }
}

/** Returns the settings that a body changes. A default quiet time that is sent back as it was read changes nothing. */
function settingsOf(row: ScoringRuleEntity, dto: PatchScoringRuleDto): Partial<ScoringRuleEntity> {
  const isSameGrain = (dto.grain ?? row.grain) === row.grain;
  const isSameQuietTime = isSameGrain && dto.quiet_seconds === quietSecondsOf(row);
  return {
    sample_rate: dto.sample_rate,
    filters: dto.filters === undefined ? undefined : toRawJson(dto.filters ?? []),
    grain: dto.grain,
    enabled: dto.enabled,
    quiet_seconds: isSameQuietTime ? undefined : dto.quiet_seconds,
    max_cost_usd_per_day: dto.max_cost_usd_per_day,
    pace: dto.pace === null ? 'even' : dto.pace,
  };
}

/** Returns the columns of a rule that processes arrivals from now on, by the clock of the trace store. */
const startingAt = (nowUs: number) => ({
  enabled_at: new Date(Math.floor(nowUs / 1000)),
  seen_us: nowUs,
  seen_trace_id: '',
});

/** Checks the types of filter values. Errors: 400. */
function checkFilters(dto: Pick<CreateScoringRuleDto, 'filters'>): void {
  const errors = conditionErrors(dto);
  if (errors.length > 0) throw problem.invalidFields(errors);
}

/** Returns a rule if it belongs to this scorer. Errors: 404. */
function checkScorer(row: ScoringRuleEntity, scorerId: string): ScoringRuleEntity {
  if (row.scorer_id !== scorerId) throw problem.notFound(RULE.noun, row.rule_id);
  return row;
}
