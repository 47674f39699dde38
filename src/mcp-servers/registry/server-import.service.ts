import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { Versioned } from '#platform/http';
import type { ServerDto } from '../servers/server.dto';
import { ServerService } from '../servers/server.service';
import { importedServer } from './server-import';
import type { ImportServerDto } from './server-import.dto';

/** Registers servers of the public MCP registry. */
@Injectable()
export class ServerImportService {
  constructor(private readonly servers: ServerService) {}

  /** Errors: those of `importedServer` and of registering a server. */
  import(scope: OrgScope, dto: ImportServerDto): Promise<Versioned<ServerDto>> {
    return this.servers.create(scope, importedServer(dto));
  }
}
