import { Body, Controller, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, ETAG_HEADER, type Reply } from '#platform/http';
import { ServerDto } from '../servers/server.dto';
import { ImportServerDto } from './server-import.dto';
import { ServerImportService } from './server-import.service';

@ApiTags('MCP servers')
@Controller('mcp/v1/servers/import')
export class ServerImportController {
  constructor(private readonly imports: ServerImportService) {}

  /** Register a server of the public MCP registry by its `server.json` */
  @Post()
  @RequireRoleSomewhere('editor')
  @ApiCreatedResponse({ type: ServerDto, headers: ETAG_HEADER })
  async import(@CurrentScope() scope: OrgScope, @Body() dto: ImportServerDto): Promise<Reply> {
    const made = await this.imports.import(scope, dto);
    return created(`/mcp/v1/servers/${made.view.server_id}`, made);
  }
}
