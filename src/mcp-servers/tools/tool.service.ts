import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Versioned } from '#platform/http';
import type { Page } from '#platform/paging';
import { problem } from '#platform/problem';
import { ServerService } from '../servers/server.service';
import { type ToolDto, type ToolListQueryDto, toToolDto } from './tool.dto';
import { ToolRepository } from './tool.repository';

/** The reading of tools, by whoever may read their server. */
@Injectable()
export class ToolService {
  constructor(
    private readonly servers: ServerService,
    private readonly tools: ToolRepository,
  ) {}

  async list(scope: OrgScope, serverId: string, query: ToolListQueryDto): Promise<Page<ToolDto>> {
    await this.servers.read(scope, serverId);
    const { rows, page } = await this.tools.list(scope, serverId, query);
    return { items: rows.map(toToolDto), page };
  }

  async get(scope: OrgScope, serverId: string, id: string): Promise<Versioned<ToolDto>> {
    await this.servers.read(scope, serverId);
    const row = await this.tools.find(scope, id);
    if (!row || row.server_id !== serverId) throw problem.notFound('tool', id);
    return { view: toToolDto(row), version: row.generation };
  }
}
