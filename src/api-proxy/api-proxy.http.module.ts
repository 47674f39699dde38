import { Module } from '@nestjs/common';
import { OutboundModule } from '#platform/outbound';
import { ApisModule } from '../registry';
import { ApiLimits } from './api-limits';
import { ApiProxyEndpoint } from './api-proxy.endpoint';
import { Upstreams } from './upstreams';

/** The API proxy, below /api/v1/apis. */
@Module({
  imports: [OutboundModule, ApisModule],
  providers: [ApiLimits, ApiProxyEndpoint, Upstreams],
})
export class ApiProxyHttpModule {}
