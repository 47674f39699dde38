import { Injectable } from '@nestjs/common';
import { NO_ROLES, type OrgScope, orgScope } from '#platform/auth';
import { SingleFlight } from '#platform/concurrency';
import { CheckMetrics } from './check.metrics';
import { CheckRepository } from './check.repository';
import type { CheckOutcome, CheckTrigger, ServerInfo } from './check.types';
import type { ServerEntity } from '../server.entity';
import { ServerService } from '../server.service';
import { type ToolChanges, ToolStore } from '../tool-store';
import type { McpSession } from '../../connection/mcp-session';
import { ServerConnections } from '../../connection/server-connections';
import { ServerFailure } from '../../connection/server-failure';
import type { Failure } from '../server-health';
import type { SkippedTool } from '../tool-faults';
import { ToolLister } from '../../connection/tool-lister';

/** The result of a refresh. */
export interface RefreshedServer {
  protocolVersion: string;
  serverInfo: ServerInfo | null;
  latencyMs: number;
  changes: ToolChanges;
  skipped: SkippedTool[];
}

/** The maximum length of a name, title or version of a server, in characters. */
const INFO_MAX = 255;
/** The maximum length of a protocol revision, in characters. Revisions are dates. */
const VERSION_MAX = 32;

/** Reads the tools of servers. Stores the tools and the outcome of each attempt. */
@Injectable()
export class ServerRefresher {
  private readonly flights = new SingleFlight<RefreshedServer>();

  constructor(
    private readonly connections: ServerConnections,
    private readonly lister: ToolLister,
    private readonly servers: ServerService,
    private readonly tools: ToolStore,
    private readonly checks: CheckRepository,
    private readonly metrics: CheckMetrics,
  ) {}

  /**
   * Refreshes the tools of a server that the caller may change. Errors: 409 if the server changed in the meantime;
   * `ServerFailure`.
   */
  refresh(scope: OrgScope, server: ServerEntity, signal: AbortSignal): Promise<RefreshedServer> {
    return this.share(scope, server, 'request', signal);
  }

  /** Refreshes the tools of a server on schedule. Errors: those of `refresh`. */
  async check(orgId: string, id: string, signal: AbortSignal): Promise<void> {
    // The audit log and the tools name the server as the principal, because no person requested the check.
    const scope = orgScope(orgId, id, NO_ROLES);
    const server = await this.servers.findForCheck(scope, id);
    if (server && !server.archived_at) await this.share(scope, server, 'schedule', signal);
  }

  /** Runs concurrent refreshes of one server once. */
  private share(
    scope: OrgScope,
    server: ServerEntity,
    trigger: CheckTrigger,
    signal: AbortSignal,
  ): Promise<RefreshedServer> {
    // A changed server is refreshed separately.
    const key = `${server.server_id} ${server.generation}`;
    return this.flights.run(key, signal, (shared) => this.readAndRecord(scope, server, trigger, shared));
  }

  private async readAndRecord(
    scope: OrgScope,
    server: ServerEntity,
    trigger: CheckTrigger,
    signal: AbortSignal,
  ): Promise<RefreshedServer> {
    try {
      const refreshed = await this.read(scope, server, signal);
      await this.record(server, trigger, { ...refreshed, error: null });
      return refreshed;
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      await this.record(server, trigger, failed(error.toFailure()));
      throw error;
    }
  }

  private async record(server: ServerEntity, trigger: CheckTrigger, outcome: CheckOutcome): Promise<void> {
    this.metrics.count(trigger, outcome.error?.kind ?? 'ok', outcome.latencyMs);
    await this.checks.record(server, trigger, outcome);
  }

  private async read(scope: OrgScope, server: ServerEntity, signal: AbortSignal): Promise<RefreshedServer> {
    const listing = await this.connections.run(server, 'listing', signal, async (session) => {
      const { tools, skipped } = await this.lister.list(session);
      return {
        tools,
        skipped,
        ...describe(session),
        latencyMs: Math.round(performance.now() - session.startedAt),
      };
    });
    const { tools, ...described } = listing;
    const contents = await this.tools.contentsOf(tools);
    signal.throwIfAborted();
    const changes = await this.servers.applyListing(scope, server, contents);
    return { ...described, changes };
  }
}

const failed = (error: Failure): CheckOutcome => ({
  error,
  latencyMs: null,
  protocolVersion: null,
  serverInfo: null,
  changes: null,
  skipped: null,
});

function describe({ client }: McpSession): Pick<RefreshedServer, 'protocolVersion' | 'serverInfo'> {
  const info = client.getServerVersion();
  const text = (value: unknown): string =>
    typeof value === 'string' ? value.replace(/\p{C}+/gu, ' ').slice(0, INFO_MAX) : '';
  return {
    protocolVersion: (client.getNegotiatedProtocolVersion() ?? '').slice(0, VERSION_MAX),
    serverInfo: info
      ? { name: text(info.name), version: text(info.version), title: info.title ? text(info.title) : null }
      : null,
  };
}
