import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { Database } from '#platform/db';
import { type FieldError, problem } from '#platform/problem';
import { checkWorkspaceOfSearch, type ErasureEntity, ErasureItems, Erasures } from '../../../resources';
import { TraceUses } from '../../deletion/trace-uses';
import { checkSelectionValues, conditionErrors } from '../stats/rule-filter.dto';
import type { TraceDeletionDto } from './trace-deletion.dto';

/** Requests deletions of many traces, which a worker runs. */
@Injectable()
export class TraceDeletionsService {
  constructor(
    private readonly database: Database,
    private readonly uses: TraceUses,
    private readonly erasures: Erasures,
    private readonly items: ErasureItems,
  ) {}

  /**
   * Requests the deletion of many traces. Errors: 400 without traces or with contradictory selectors; 409 for named traces that are
   * in use, unless it is forced.
   */
  request(scope: Scope, dto: TraceDeletionDto): Promise<ErasureEntity> {
    checkWorkspaceOfSearch(scope, dto.workspace_id);
    checkSelectors(dto);
    checkSelectionValues(dto);
    const { workspaceId } = scope;
    const { trace_ids: ids, filters, since, until } = dto;
    const [isForced, isDryRun] = [dto.force === true, dto.dry_run === true];
    return this.database.transaction(async (tx) => {
      const [used] = ids && !isForced ? await this.uses.findOpen(tx, workspaceId, ids) : [];
      if (used) {
        const [traceId, use] = used;
        throw problem.conflict(
          `The ${use} uses the trace ${traceId}. Wait until it has ended, cancel or archive it, or send \`force\`.`,
        );
      }
      const erasure = await this.erasures.request(tx, scope, {
        subject: 'traces',
        id: randomUUID(),
        workspaceId,
        ...(!ids && { filters: { filters, since, until } }),
        isForced,
        isDryRun,
      });
      if (ids) await this.items.addIds(tx, { erasureId: erasure.erasure_id, workspaceId }, 'trace', ids);
      return erasure;
    });
  }
}

/** Checks the rules between the members of a deletion. Errors: 400. */
function checkSelectors(dto: TraceDeletionDto): void {
  const isSelected = dto.filters?.length || dto.since || dto.until;
  if (!dto.trace_ids && !isSelected) {
    throw problem.invalidRequest(
      'Name the traces in trace_ids, or select them with filters, since or until.',
    );
  }
  const errors: FieldError[] = conditionErrors(dto);
  for (const member of ['filters', 'since', 'until'] as const) {
    if (dto.trace_ids && (dto[member] ?? null) !== null) {
      errors.push({ pointer: `/${member}`, detail: 'cannot be combined with trace_ids' });
    }
  }
  if (errors.length > 0) throw problem.invalidFields(errors);
}
