import { Body, Controller, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiTags } from '@nestjs/swagger';
import { CurrentScope, type OrgScope, RequireRoleSomewhere } from '#platform/auth';
import { created, ETAG_HEADER, type Reply } from '#platform/http';
import { ServerDto } from '../server.dto';
import { ServerService } from '../server.service';
import { importedServer, withNameAdvice } from './server-import';
import { ImportServerDto } from './server-import.dto';

@ApiTags('MCP servers')
@Controller('mcp/v1/servers/import')
export class ServerImportController {
  constructor(private readonly servers: ServerService) {}

  /** Register an MCP server from a `server.json` of the public MCP registry */
  @Post()
  @RequireRoleSomewhere('editor')
  @ApiCreatedResponse({ type: ServerDto, headers: ETAG_HEADER })
  async import(@CurrentScope() scope: OrgScope, @Body() dto: ImportServerDto): Promise<Reply> {
    const imported = importedServer(dto);
    const server = await this.servers
      .create(scope, imported.server, imported.parts)
      .catch((error: unknown) => {
        throw withNameAdvice(error, dto);
      });
    return created(`/mcp/v1/servers/${server.view.server_id}`, server);
  }
}
