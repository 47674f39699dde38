import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { type Page, toPage } from '#platform/paging';
import { type RefreshedServer, ServerRefresher } from './server-refresher';
import { problemOf, ServerFailure } from '../../connection/server-failure';
import { ServerService } from '../server.service';
import {
  type ServerCheckDto,
  type CheckListQueryDto,
  type ServerTestDto,
  toServerCheckDto,
  type ToolChangesDto,
} from './check.dto';
import { CheckRepository } from './check.repository';

/** A view without a workspace id, and the workspace that it belongs to. */
interface InWorkspace<View> {
  workspaceId: string;
  view: View;
}

/** Tests and refreshes servers, and lists their checks. */
@Injectable()
export class CheckService {
  constructor(
    private readonly refresher: ServerRefresher,
    private readonly servers: ServerService,
    private readonly checks: CheckRepository,
  ) {}

  /** Refreshes the tools and returns whether the server can be used. Errors: 404, 403, 409. */
  async test(scope: OrgScope, id: string, signal: AbortSignal): Promise<InWorkspace<ServerTestDto>> {
    const server = await this.servers.findUsable(scope, id);
    const { workspace_id: workspaceId } = server;
    try {
      return { workspaceId, view: toTestDto(await this.refresher.refresh(scope, server, signal)) };
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      return { workspaceId, view: { ok: false, error: error.toFailure() } };
    }
  }

  /** Refreshes the tools. Errors: 404, 403, 409; 504 if the server is too slow; 503 if it cannot be used for another reason. */
  async refresh(scope: OrgScope, id: string, signal: AbortSignal): Promise<InWorkspace<ToolChangesDto>> {
    const server = await this.servers.findUsable(scope, id);
    try {
      const refreshed = await this.refresher.refresh(scope, server, signal);
      return { workspaceId: server.workspace_id, view: toChangesDto(refreshed) };
    } catch (error) {
      throw problemOf(error);
    }
  }

  /** Lists the checks of a server. Errors: 404. */
  async list(scope: OrgScope, id: string, query: CheckListQueryDto): Promise<Page<ServerCheckDto>> {
    await this.servers.find(scope, id);
    return toPage(await this.checks.list(scope, id, query), toServerCheckDto);
  }
}

const toChangesDto = ({ changes, skipped }: RefreshedServer): ToolChangesDto => ({
  added: changes.added,
  updated: changes.updated,
  archived: changes.archived,
  unchanged_count: changes.unchangedCount,
  ...(skipped.length > 0 && { skipped }),
});

const toTestDto = (refreshed: RefreshedServer): ServerTestDto => ({
  ok: true,
  protocol_version: refreshed.protocolVersion,
  server_info: refreshed.serverInfo,
  latency_ms: refreshed.latencyMs,
  tools: toChangesDto(refreshed),
});
