import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import { checkIfMatch, valueErrors, checkImmutable, type Versioned } from '#platform/http';
import { newId } from '#platform/ids';
import { toJsonText, toRawJson } from '#platform/json';
import type { Page } from '#platform/paging';
import { type FieldError, problem } from '#platform/problem';
import { TraceArrivals } from '../../telemetry';
import type { ScorerEntity } from '../scorers/scorer.entity';
import { ScorerRepository } from '../scorers/scorer.repository';
import { ScorerService } from '../scorers/scorer.service';
import { checkRunnable, runnable, TargetScorer } from '../scoring/target-scorer';
import { AuditLog, changesTold, given } from '../../registry';
import { checkWorkspaceOfCreate, checkWorkspaceOfPatch } from '../shared/workspace-body';
import { readFilters, statusErrors } from '../traces/trace-filters';
import {
  type CreateScoringRuleDto,
  type PatchScoringRuleDto,
  RULE_FIELDS,
  type ScoringRuleDto,
  type ScoringRuleListQueryDto,
} from './scoring-rule.dto';
import type { ScoringRuleEntity } from './scoring-rule.entity';
import { toScoringRuleDto } from './scoring-rule.mapper';
import { ScoringRuleRepository } from './scoring-rule.repository';

/** Rules of one scorer that are not archived. */
const RULES_MAX = 20;

@Injectable()
export class ScoringRuleService {
  constructor(
    private readonly database: Database,
    private readonly rules: ScoringRuleRepository,
    private readonly scorers: ScorerRepository,
    private readonly scorerService: ScorerService,
    private readonly scorer: TargetScorer,
    private readonly arrivals: TraceArrivals,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Errors: 400 for filters whose values do not fit, and for a scorer of people; 404 for an unknown scorer; 409 for an
   * archived one, and one that has 20 rules; 422 for unknown values; 503 where no judge backend is configured.
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
    checkRuleValues(dto);
    this.scorer.checkBackend(runnable(scorer));
    const row = newRule(scope, scorer, dto, (await this.arrivals.clock()).now_us);
    await this.database.transaction(async (tx) => {
      // so that what is counted stays so until the rule is in
      const locked = await this.scorers.lock(tx, scope, scorerId, 'update');
      if (!locked) throw problem.notFound('scorer', scorerId);
      checkRunnable(locked);
      if ((await this.rules.countLive(tx, scope, scorerId)) >= RULES_MAX) {
        throw problem.conflict(
          `The scorer has ${RULES_MAX} rules, and can have no more: archive one of them.`,
        );
      }
      await this.rules.insert(row, tx);
      await this.audit.record(tx, scope, {
        ...audited(row),
        action: 'create',
        changes: given({ scorer_id: row.scorer_id }),
      });
    });
    return versionedView(row);
  }

  async list(scope: Scope, scorerId: string, query: ScoringRuleListQueryDto): Promise<Page<ScoringRuleDto>> {
    await this.scorerService.find(scope, scorerId);
    const { rows, page } = await this.rules.list(scope, scorerId, query);
    return { items: rows.map(toScoringRuleDto), page };
  }

  /** 404 also for the rule of another scorer. */
  async get(scope: Scope, scorerId: string, id: string): Promise<Versioned<ScoringRuleDto>> {
    const row = await this.rules.find(scope, id);
    return versionedView(ofScorer(row, scorerId, id));
  }

  /**
   * Changes a rule; one that is enabled again is for what arrives from then on, and any change has it tried anew.
   * Errors: 404, 400 for filters whose values do not fit, 412 for a stale `If-Match`, 409 when the rule or its scorer is
   * archived, 422 for unknown values and other ids, 503 to enable a rule whose judge backend is not configured.
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
    return this.database.transaction(async (tx) => {
      const row = ofScorer(await this.rules.lock(tx, scope, id, 'update'), scorerId, id);
      checkIfMatch(ifMatch, row.generation);
      if (row.archived_at) throw problem.conflict('The rule is archived and takes no changes.');
      checkRunnable(scorer);
      checkWorkspaceOfPatch(scope, dto.workspace_id);
      checkRuleValues(dto);
      checkImmutable(row, dto, ['rule_id', 'scorer_id']);
      const patched = patchedContent(row, dto);
      if (sameContent(row, patched)) return versionedView(row);
      const isEnabledAgain = patched.enabled && !row.enabled;
      if (isEnabledAgain) this.scorer.checkBackend(runnable(scorer));
      const changes = {
        ...patched,
        ...(isEnabledAgain && from(now_us)),
        generation: row.generation + 1,
        last_error: null,
        held_until: null,
        updated_at: new Date(),
      };
      await this.rules.update(tx, scope, id, changes);
      const told = changesTold<ScoringRuleEntity>(row, patched, CONTENT_MEMBERS);
      await this.audit.record(tx, scope, { ...audited(row), action: 'update', changes: told });
      return versionedView({ ...row, ...changes });
    });
  }

  /** Archives a rule; repeated, it answers the same. Runs that it has ordered go on. */
  async archive(
    scope: Scope,
    scorerId: string,
    id: string,
    ifMatch?: string,
  ): Promise<Versioned<ScoringRuleDto>> {
    return this.database.transaction(async (tx) => {
      const row = ofScorer(await this.rules.lock(tx, scope, id, 'update'), scorerId, id);
      if (row.archived_at) return versionedView(row);
      checkIfMatch(ifMatch, row.generation);
      const now = new Date();
      const changes = { archived_at: now, updated_at: now, generation: row.generation + 1 };
      await this.rules.update(tx, scope, id, changes);
      await this.audit.record(tx, scope, { ...audited(row), action: 'archive' });
      return versionedView({ ...row, ...changes });
    });
  }
}

const audited = (row: ScoringRuleEntity) => ({
  type: 'scoring_rule' as const,
  id: row.rule_id,
  workspaceId: row.workspace_id,
});

function newRule(
  scope: Scope,
  scorer: ScorerEntity,
  dto: CreateScoringRuleDto,
  nowUs: number,
): ScoringRuleEntity {
  const now = new Date();
  return {
    rule_id: newId('rule'),
    org_id: scope.orgId,
    workspace_id: scope.workspaceId,
    scorer_id: scorer.scorer_id,
    sample_rate: dto.sample_rate ?? 1,
    filters: toRawJson(dto.filters ?? []),
    grain: dto.grain ?? scorer.grain,
    quiet_seconds: dto.quiet_seconds ?? null,
    enabled: dto.enabled ?? true,
    generation: 1,
    ...from(nowUs),
    last_seen_at: null,
    seen_count: 0,
    chosen_count: 0,
    ordered_count: 0,
    last_run_at: null,
    last_score_run_id: null,
    last_error: null,
    held_until: null,
    created_at: now,
    updated_at: now,
    created_by: scope.principalId,
    archived_at: null,
  };
}

/** Of a rule that is for what arrives from now on, by the clock of the store. */
const from = (nowUs: number): Pick<ScoringRuleEntity, 'enabled_at' | 'seen_us' | 'seen_trace_id'> => ({
  enabled_at: new Date(Math.floor(nowUs / 1000)),
  seen_us: nowUs,
  seen_trace_id: '',
});

type WithFilters = Pick<CreateScoringRuleDto, 'filters'>;

function checkFilters({ filters }: WithFilters): void {
  const errors: FieldError[] = [];
  readFilters(filters ?? [], RULE_FIELDS, errors);
  if (errors.length > 0) throw problem.invalidFields(errors);
}

/** 422 for unknown grains, fields, operators, and values of `status`. */
function checkRuleValues(dto: WithFilters): void {
  const errors = [...valueErrors(dto, ''), ...statusErrors(dto.filters ?? [])];
  if (errors.length > 0) throw problem.validationFailed(errors);
}

function ofScorer(row: ScoringRuleEntity | null, scorerId: string, id: string): ScoringRuleEntity {
  if (row?.scorer_id !== scorerId) throw problem.notFound('scoring rule', id);
  return row;
}

const CONTENT_MEMBERS = ['sample_rate', 'filters', 'grain', 'enabled', 'quiet_seconds'] as const;
type RuleContent = Pick<ScoringRuleEntity, (typeof CONTENT_MEMBERS)[number]>;

const patchedContent = (row: ScoringRuleEntity, dto: PatchScoringRuleDto): RuleContent => ({
  sample_rate: dto.sample_rate ?? row.sample_rate,
  filters: dto.filters === undefined ? row.filters : toRawJson(dto.filters ?? []),
  grain: dto.grain ?? row.grain,
  enabled: dto.enabled ?? row.enabled,
  quiet_seconds: dto.quiet_seconds === undefined ? row.quiet_seconds : dto.quiet_seconds,
});

const sameContent = (row: RuleContent, patched: RuleContent): boolean =>
  CONTENT_MEMBERS.every((member) => toJsonText(row[member]) === toJsonText(patched[member]));

const versionedView = (row: ScoringRuleEntity): Versioned<ScoringRuleDto> => ({
  view: toScoringRuleDto(row),
  version: row.generation,
});
