import { Injectable } from '@nestjs/common';
import { Environment } from '#platform/config';
import { problem } from '#platform/problem';
import { RETENTION_MEMBERS, type RetentionDto, type RetentionMember } from './retention.dto';
import { RetentionRepository } from './retention.repository';

/** A workspace, and for how many days it keeps one kind of data. */
export interface WorkspaceRetention {
  orgId: string;
  workspaceId: string;
  days: number;
}

/** The variables with the installation's retention. If one is unset, the next applies; without any, data is kept forever. */
const VARIABLES = {
  traces_days: ['TRACE_RETENTION_DAYS'],
  logs_days: ['LOG_RETENTION_DAYS', 'TRACE_RETENTION_DAYS'],
  metrics_days: ['METRIC_RETENTION_DAYS', 'TRACE_RETENTION_DAYS'],
  scores_days: ['SCORE_RETENTION_DAYS'],
  sessions_days: ['SESSION_RETENTION_DAYS'],
} as const satisfies Record<RetentionMember, readonly (keyof Environment)[]>;

/** For how many days data is kept: by the installation, and by workspaces that narrow it. */
@Injectable()
export class RetentionPolicy {
  constructor(
    private readonly environment: Environment,
    private readonly repository: RetentionRepository,
  ) {}

  /** Returns the installation's days; undefined for forever. */
  installationDays(member: RetentionMember): number | undefined {
    const name = this.variableOf(member);
    return name && this.environment[name];
  }

  /** Checks the retention of a workspace. Error: 400 if it is wider than the installation's. */
  check(retention: RetentionDto | null | undefined): void {
    const errors = RETENTION_MEMBERS.flatMap((member) => {
      const [days, max] = [retention?.[member], this.installationDays(member)];
      if (typeof days !== 'number' || max === undefined || days <= max) return [];
      const detail = `must be at most ${max}, the ${this.variableOf(member)} of this installation`;
      return { pointer: `/retention/${member}`, detail };
    });
    if (errors.length > 0) throw problem.invalidFields(errors);
  }

  /** Yields the workspaces that keep the data shorter than the installation. */
  async *narrower(member: RetentionMember): AsyncGenerator<WorkspaceRetention, void> {
    const max = this.installationDays(member) ?? Infinity;
    for await (const workspace of this.workspaces(member, true)) if (workspace.days < max) yield workspace;
  }

  /** Yields the workspaces that do not keep the data forever. */
  limited(member: RetentionMember): AsyncGenerator<WorkspaceRetention, void> {
    return this.workspaces(member, this.installationDays(member) === undefined);
  }

  private async *workspaces(
    member: RetentionMember,
    onlyOwn: boolean,
  ): AsyncGenerator<WorkspaceRetention, void> {
    const installation = this.installationDays(member) ?? Infinity;
    for (let after = ''; ;) {
      const page = await this.repository.nextWorkspaces(after, onlyOwn);
      if (page.length === 0) return;
      for (const { org_id: orgId, workspace_id: workspaceId, retention } of page) {
        const own = (retention.parse() as RetentionDto)[member] ?? Infinity;
        const days = Math.min(own, installation);
        if (days !== Infinity) yield { orgId, workspaceId, days };
      }
      after = page.at(-1)!.workspace_id;
    }
  }

  private variableOf(member: RetentionMember) {
    return VARIABLES[member].find((name) => this.environment[name] !== undefined);
  }
}
