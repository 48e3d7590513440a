import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '../../../../storage/test/postgres/start-postgres.ts'
import type { Round } from '../../harness/round.ts'

export const hasNginx = (): boolean => spawnSync('nginx', ['-v']).status === 0

/**
 * nginx in front of `ports` of this machine, with keep-alive connections. It never retries, so a
 * request that a host loses is a failure.
 * @returns its URL
 */
export async function startNginx(round: Round, folder: string, ports: readonly number[]): Promise<string> {
  await mkdir(folder, { recursive: true })
  const port = await freePort()
  await writeFile(join(folder, 'nginx.conf'), configuration(folder, port, ports))
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const url = `http://127.0.0.1:${port}`
  await untilItResponds(url, child)
  round.teardown(async () => {
    const ended = once(child, 'exit')
    if (child.exitCode === null && child.kill('SIGQUIT')) await ended
  })
  return url
}

const configuration = (folder: string, port: number, ports: readonly number[]) => `
daemon off;
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections 4096; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  keepalive_requests 1000000;
  upstream hosts {
    ${ports.map((to) => `server 127.0.0.1:${to};`).join('\n    ')}
    keepalive 64;
    keepalive_requests 1000000;
    # Shorter than the hosts keep theirs (10 s), so that nginx is the one that ends an idle connection.
    keepalive_timeout 5s;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://hosts;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_next_upstream off;
    }
  }
}
`

async function untilItResponds(url: string, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('nginx ended while it started: see what it wrote above')
    const responded = await fetch(`${url}/health/ready`).catch(() => undefined)
    await responded?.arrayBuffer()
    if (responded?.ok) return
  }
}
