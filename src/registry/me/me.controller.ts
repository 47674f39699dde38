import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { AllowedBy, AnyPrincipal, AREAS, CurrentPrincipal, type Principal } from '#platform/auth';
import { MeDto } from './me.dto';
import { MeService } from './me.service';

@ApiTags('Accounts')
@Controller('registry/v1/me')
export class MeController {
  constructor(private readonly me: MeService) {}

  /** Get the caller's identity, organization, roles and workspaces */
  @Get()
  @AllowedBy(...AREAS)
  @AnyPrincipal()
  @ApiOkResponse({ type: MeDto })
  describe(@CurrentPrincipal() principal: Principal): Promise<MeDto> {
    return this.me.describe(principal);
  }
}
