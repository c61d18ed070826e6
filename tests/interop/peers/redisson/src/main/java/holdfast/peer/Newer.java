package holdfast.peer;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/** Calls what only newer versions of Redisson have; NoSuchMethodException says that this one hasn't. */
final class Newer {
  private Newer() {}

  static Object call(Class<?> api, Object target, String method, Object... arguments) throws Exception {
    var found =
        Arrays.stream(api.getMethods())
            .filter(m -> m.getName().equals(method) && takes(m.getParameterTypes(), arguments))
            .findFirst()
            .orElseThrow(() -> new NoSuchMethodException(method));
    try {
      return found.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      if (e.getCause() instanceof Exception cause) throw cause;
      throw e;
    }
  }

  static Object constant(String type, String name) throws ClassNotFoundException {
    return Arrays.stream(Class.forName(type).getEnumConstants())
        .filter(constant -> constant.toString().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException(type + " has no " + name));
  }

  private static boolean takes(Class<?>[] types, Object[] arguments) {
    if (types.length != arguments.length) return false;
    for (int i = 0; i < types.length; ++i) {
      var isInt = types[i] == int.class && arguments[i] instanceof Integer;
      if (!isInt && !types[i].isInstance(arguments[i])) return false;
    }
    return true;
  }
}
