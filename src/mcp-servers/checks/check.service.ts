import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { type RefreshedServer, ServerRefresher } from '../connection/server-refresher';
import { problemOf, ServerFailure } from '../connection/server-failure';
import { ServerService } from '../servers/server.service';
import type { ToolChanges } from '../servers/tool-store';
import {
  type CheckDto,
  type CheckListQueryDto,
  type ServerTestDto,
  toCheckDto,
  type ToolChangesDto,
} from './check.dto';
import { CheckRepository } from './check.repository';

/** Tests and refreshes servers, and lists their checks. */
@Injectable()
export class CheckService {
  constructor(
    private readonly refresher: ServerRefresher,
    private readonly servers: ServerService,
    private readonly checks: CheckRepository,
  ) {}

  /** Refreshes the tools, and returns whether the server can be used. Errors: 404, 403, 409. */
  async test(scope: OrgScope, id: string, signal: AbortSignal): Promise<ServerTestDto> {
    try {
      return toTestDto(await this.refresher.refresh(scope, id, signal));
    } catch (error) {
      if (!(error instanceof ServerFailure)) throw error;
      return { ok: false, error: error.toFailure() };
    }
  }

  /** Refreshes the tools. Errors: 404, 403, 409; 504 if the server is too slow, 503 if it cannot be used otherwise. */
  async refresh(scope: OrgScope, id: string, signal: AbortSignal): Promise<ToolChangesDto> {
    try {
      return toChangesDto((await this.refresher.refresh(scope, id, signal)).changes);
    } catch (error) {
      throw problemOf(error);
    }
  }

  /** Lists the checks of a server. Errors: 404. */
  async list(scope: OrgScope, id: string, query: CheckListQueryDto): Promise<Page<CheckDto>> {
    await this.servers.find(scope, id);
    const { rows, page } = await this.checks.list(scope, id, query);
    return { items: rows.map(toCheckDto), page };
  }
}

const toChangesDto = ({ added, updated, archived, unchangedCount }: ToolChanges): ToolChangesDto => ({
  added,
  updated,
  archived,
  unchanged_count: unchangedCount,
});

const toTestDto = ({ protocolVersion, serverInfo, latencyMs, changes }: RefreshedServer): ServerTestDto => ({
  ok: true,
  protocol_version: protocolVersion,
  server_info: serverInfo,
  latency_ms: latencyMs,
  tools: toChangesDto(changes),
});
