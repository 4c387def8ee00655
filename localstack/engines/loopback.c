// Preload this into a server that has an option for its port alone: every IPv4
// socket that it binds then listens only on 127.0.0.1.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

int bind(int fd, const struct sockaddr *address, socklen_t length) {
	int (*next)(int, const struct sockaddr *, socklen_t);
	*(void **)&next = dlsym(RTLD_NEXT, "bind");
	if (address->sa_family == AF_INET6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	if (address->sa_family != AF_INET || length < sizeof(struct sockaddr_in)) {
		return next(fd, address, length);
	}
	struct sockaddr_in loopback;
	memcpy(&loopback, address, sizeof loopback);
	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return next(fd, (struct sockaddr *)&loopback, sizeof loopback);
}
