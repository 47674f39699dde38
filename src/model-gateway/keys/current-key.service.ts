import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import { problem } from '#platform/problem';
import { SpendRepository } from '../budgets/spend.repository';
import { type CurrentGatewayKeyDto, toGatewayKeyDto } from './gateway-key.dto';
import { GatewayKeyRepository } from './gateway-key.repository';

/** Shows a gateway key its limits and the amount it has spent. */
@Injectable()
export class CurrentKeyService {
  constructor(
    private readonly keys: GatewayKeyRepository,
    private readonly spend: SpendRepository,
  ) {}

  /** Returns the caller's gateway key. Errors: 404 for a caller that is not a gateway key. */
  async get(scope: OrgScope): Promise<CurrentGatewayKeyDto> {
    const row = await this.keys.readOf(scope, scope.principalId);
    if (!row) throw problem.notFound('gateway key', '', 'You are not calling with a gateway key.');
    const spend = await this.spend.currentMonth(row.service_account_id, row.monthly_budget_usd);
    return { ...toGatewayKeyDto(row), ...spend };
  }
}
